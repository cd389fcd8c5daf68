// Tiles of the cache in shared memory as they are packed in the pools, and attention's products straight from there:
// `ldmatrix` brings every lane the codes that its fragments need, a few bit operations make them FP16.
#pragma once

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

// `cells` cells, from a multiple of 128 bytes on: all rows, then (q6_0) the two high bits of their codes, then all
// scales; see `swizzled`. Groups of q2c lie as in the pools.
template <KvFormat f, int cells>
struct PackedTile {
    static constexpr bool kChannels = f == KvFormat::q2c;
    static constexpr int kUnits = kChannels ? cells / kKvGroupCells : cells;  // rows or groups
    // Bytes of a unit.
    static constexpr int kTops = f == KvFormat::q6_0 ? kRowDim / 4 : 0;
    static constexpr int kRow = kChannels ? kRowDim * 8 : kRowDim / 32 * 4 * words_of_32(f) - kTops;
    static constexpr int kScales = kChannels ? kRowDim * 2 : is_plain(f) ? 0 : kRowDim / 32 * 2;
    static constexpr int kTopChunks = kTops == 0 ? 4 : kTops / 16;
    static constexpr int kTopsAt = kUnits * kRow;
    static constexpr int kScalesAt = kTopsAt + kUnits * kTops;
    static constexpr int kBytes = kScalesAt + kUnits * kScales;
    static_assert(kBytes % 128 == 0);

    __device__ static constexpr int row_at(int row, int chunk) {
        return kChannels ? row * kRow + chunk * 16 : swizzled<kRow / 16>(row, chunk);
    }
    __device__ static constexpr int tops_at(int row, int chunk) { return swizzled<kTopChunks>(row, chunk) + kTopsAt; }
    __device__ static constexpr int scales_at(int row) { return kScalesAt + row * kScales; }
};

// Brings tiles, of the bulk of a KV head, into shared memory, by all `threads` of the block.
template <KvFormat f, int cells, int threads>
class TileCopies {
  public:
    __device__ explicit TileCopies(const BulkRows& from)
        : payload_(from.payload + unit() * from.payload_step + chunk() * 16),
          row_step_(static_cast<uint32_t>(kTogether * from.payload_step)),
          scale_step_(static_cast<uint32_t>(Tile::kUnits * from.scale_step)) {
        asm volatile("" : "+r"(row_step_), "+r"(scale_step_));  // kept: worked out again they would take longer
        if constexpr (Tile::kTops > 0) {
            tops_ = from.payload + thread() / kTopChunks * from.payload_step + Tile::kRow + thread() % kTopChunks * 16;
        }
        if constexpr (kScaleChunks > 0) {
            scales_ = from.scales + thread() / kScaleChunks * from.scale_step + thread() % kScaleChunks * 8;
        }
    }

    // Begins with tile `index` of the cache.
    __device__ void begin(uint32_t index, uint8_t* tile) {
        const uint64_t before = uint64_t{index} * (row_step_ * (Tile::kUnits / kTogether));
        const int to = Tile::row_at(unit(), chunk());
#pragma unroll
        for (int i = 0; i < Tile::kUnits / kTogether; ++i) {
            // A row's chunks are turned by its number modulo 8, in which bit 2 changes from copy to copy if kTogether
            // is 4.
            constexpr int kTurn = Tile::kChannels ? 0 : kTogether % 8 * 16;
            copy_16(tile + i * kTogether * Tile::kRow + (to ^ (i % 2 * kTurn)), payload_ + before + i * row_step_);
        }
        if constexpr (Tile::kTops > 0) {
            constexpr int kRows = threads / kTopChunks;
            static_assert(kRows % 16 == 0 && Tile::kUnits % kRows == 0 && kRows % kTogether == 0);
            const int tops_to = Tile::tops_at(thread() / kTopChunks, thread() % kTopChunks);
#pragma unroll
            for (int i = 0; i < Tile::kUnits / kRows; ++i) {
                copy_16(tile + i * kRows * Tile::kTops + tops_to, tops_ + before + i * (kRows / kTogether) * row_step_);
            }
        }
        if constexpr (kScaleChunks > 0) {
            static_assert(Tile::kUnits * kScaleChunks <= threads);
            if (thread() < Tile::kUnits * kScaleChunks) {
                copy_16(tile + Tile::kScalesAt + thread() * 16, scales_ + uint64_t{index} * scale_step_);
            }
        }
    }

  private:
    using Tile = PackedTile<f, cells>;
    static constexpr int kChunks = Tile::kRow / 16;
    static constexpr int kTopChunks = Tile::kTopChunks;
    static constexpr int kScaleChunks = Tile::kScales / 16;
    static constexpr int kTogether = threads / kChunks;  // rows or groups that the threads copy at once
    static_assert(kTogether > 0 && Tile::kUnits % kTogether == 0 && threads % kChunks == 0);
    static_assert(Tile::kRow % 128 == 0 && (Tile::kChannels || kTogether % 4 == 0));

    __device__ static int thread() { return static_cast<int>(threadIdx.x); }
    __device__ static int unit() { return thread() / kChunks; }
    __device__ static int chunk() { return thread() % kChunks; }

    const uint8_t* payload_;
    const uint8_t* tops_ = nullptr;
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
