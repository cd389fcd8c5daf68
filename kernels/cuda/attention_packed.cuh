// Tiles of the cache in shared memory as they are packed in the pools, and attention's products straight from there:
// `ldmatrix` brings every lane the codes that its fragments need, a few bit operations make them FP16.
#pragma once

#include <bit>

#include "kernels/cuda/kv_unpack.cuh"
#include "kernels/cuda/shared_tile.cuh"

namespace octavo::cuda {

constexpr bool is_packed_format(KvFormat f) {
    return is_plain(f) || f == KvFormat::q8_0 || f == KvFormat::q6_0 || f == KvFormat::q4_0 || f == KvFormat::q2c;
}
// The bulk of one KV head.
struct BulkRows {
    const uint8_t* payload;
    const f16_bits* scales;
    int64_t payload_step;  // bytes from one cell (or group) to the next
    int64_t scale_step;

    __device__ BulkRows(const Cache& cache, const Side& side, int head)
        : payload(side.payload + head * side.payload_bytes),
          scales(side.scales + int64_t{head} * side.scale_count),
          payload_step(cache.kv_heads * side.payload_bytes),
          scale_step(int64_t{cache.kv_heads} * side.scale_count) {}
};

// `cells` cells. Rows have their eight scales behind them, which also keeps eight rows out of each other's banks;
// groups of q2c (codes, then scales) follow each other.
template <KvFormat f, int cells>
struct PackedTile {
    static constexpr bool kChannels = f == KvFormat::q2c;
    static constexpr int kUnits = kChannels ? cells / kKvGroupCells : cells;  // rows or groups
    static constexpr int kPayload = kChannels ? kRowDim * 8 : kRowDim / 32 * 4 * words_of_32(f);
    static constexpr int kScales = kChannels ? kRowDim * 2 : is_plain(f) ? 0 : kRowDim / 32 * 2;
    static constexpr int kPitch = is_plain(f) ? kPayload + 16 : kPayload + kScales;
    static constexpr int kBytes = kUnits * kPitch;
};

// Brings tile after tile, the bulk of a KV head, into shared memory, by all `threads` of the block.
template <KvFormat f, int cells, int threads>
class TileCopies {
  public:
    __device__ TileCopies(const BulkRows& from, int64_t first_cell)
        : row_step_(static_cast<uint32_t>(kTogether * from.payload_step)),
          scale_step_(static_cast<uint32_t>(Tile::kUnits * from.scale_step)) {
        asm volatile("" : "+r"(row_step_), "+r"(scale_step_));  // kept: worked out again they would take longer
        const int64_t unit0 = first_cell / (Tile::kChannels ? kKvGroupCells : 1);
        payload_ = from.payload + (unit0 + unit()) * from.payload_step + thread() % kChunks * 16 - tile_step();
        if constexpr (kScaleChunks > 0) {
            scales_ = from.scales + (unit0 + thread() / kScaleChunks) * from.scale_step + thread() % kScaleChunks * 8 -
                      scale_step_;
        }
    }

    // Begins the next.
    __device__ void begin(uint8_t* tile) {
        payload_ += tile_step();  // not behind the copies, which may not have read it yet
        if (threads == kTogether * kChunks || thread() < kTogether * kChunks) {
            uint8_t* const to = tile + unit() * Tile::kPitch + thread() % kChunks * 16;
            const uint8_t* from = payload_;
#pragma unroll
            for (int i = 0; i < Tile::kUnits; i += kTogether) {
                copy_16(to + i * Tile::kPitch, from);
                from += row_step_;
            }
        }
        if constexpr (kScaleChunks > 0) {
            static_assert(Tile::kUnits * kScaleChunks <= threads);
            scales_ += scale_step_;
            if (thread() < Tile::kUnits * kScaleChunks) {
                copy_16(tile + thread() / kScaleChunks * Tile::kPitch + Tile::kPayload + thread() % kScaleChunks * 16,
                        scales_);
            }
        }
    }

  private:
    using Tile = PackedTile<f, cells>;
    static constexpr int kChunks = Tile::kPayload / 16;
    static constexpr int kScaleChunks = Tile::kScales / 16;
    static constexpr int kTogether = static_cast<int>(std::bit_floor(threads / unsigned{kChunks}));  // rows or groups
    static_assert(kTogether > 0 && Tile::kUnits % kTogether == 0);

    __device__ static int thread() { return static_cast<int>(threadIdx.x); }
    __device__ static int unit() { return thread() / kChunks; }
    __device__ int64_t tile_step() const { return int64_t{row_step_} * (Tile::kUnits / kTogether); }

    const uint8_t* payload_;
    const f16_bits* scales_ = nullptr;
    uint32_t row_step_;
    uint32_t scale_step_;
};

// ---- codes to numbers with a bias ----

// (x & mask) ^ flip in one instruction; the compiler makes two of it where both are constants.
__device__ inline uint32_t pick(uint32_t x, uint32_t mask, uint32_t flip) {
    uint32_t result;
    asm("lop3.b32 %0, %1, %2, %3, 0x6a;" : "=r"(result) : "r"(x), "r"(mask), "r"(flip));
    return result;
}

// Eight nibbles: pairs (j, j + 4) as 1024 + (code + 8) for even j, 64 + (code + 8) for odd j: two lie where they are.
__device__ inline void biased_nibbles(uint32_t word, uint32_t (&to)[4]) {
#pragma unroll
    for (int j = 0; j < 4; j += 2) {
        to[j] = pick(word >> (4 * j), 0x000f000fu, 0x64086408u);
        to[j + 1] = pick(word >> (4 * j), 0x00f000f0u, 0x54805480u);
    }
}
// With two bits more on top, of (j, j + 4) at bits 2j of both halves of `tops`: 1024 or 64 + (code + 32).
__device__ inline void biased_six(uint32_t word, uint32_t tops, uint32_t (&to)[4]) {
#pragma unroll
    for (int j = 0; j < 4; j += 2) {
        const uint32_t even = pick(word >> (4 * j), 0x000f000fu, 0x64206420u);
        const uint32_t odd = pick(word >> (4 * j), 0x00f000f0u, 0x56005600u);
        to[j] = pick(tops << (4 - 2 * j), 0x00300030u, even);
        to[j + 1] = pick(tops << (6 - 2 * j), 0x03000300u, odd);
    }
}
// Bytes j and j + 2 as 1024 + (code + 128).
__device__ inline uint32_t biased_bytes(uint32_t word, int j) {
    return pick(word >> (8 * j), 0x00ff00ffu, 0x64806480u);
}

}  // namespace octavo::cuda
