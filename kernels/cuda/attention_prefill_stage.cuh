// The bulk of a KV head on its way to FP16 tiles of 32 cells in shared memory: what a thread copies into shared memory
// for a tile to come is what it unpacks later, so that nobody waits for anybody in between. Plain numbers go straight
// to their tile.
#pragma once

#include "kernels/cuda/attention_packed.cuh"
#include "kernels/cuda/attention_source.cuh"

namespace octavo::cuda {

inline constexpr int kPrefillCells = 32;
inline constexpr int kPrefillThreads = 256;  // a block of 32 values each, of a tile
inline constexpr int kPrefillTileBytes = kPrefillCells * kTilePitch * 2;

// Formats with a way of their own; tiles of others are filled by fill_tile.
constexpr bool is_staged_format(KvFormat f) { return is_packed_format(f); }

template <KvFormat f>
class StagedTile {
  public:
    static constexpr bool kUnpacks = !is_plain(f);
    static constexpr int kStageBytes =
        is_plain(f) ? 0 : 16 * kPrefillThreads * (f == KvFormat::q8_0 || f == KvFormat::q6_0 ? 2 : 1);

    // `stage` [kStageBytes]
    __device__ StagedTile(const Cache& cache, const Side& side, int head, uint8_t* stage)
        : rows_(cache, side, head), stage_(stage + 16 * threadIdx.x) {}

    // `tile`: where plain numbers go.
    __device__ void begin(int64_t first_cell, f16_bits* tile) {
        const int thread = threadIdx.x;
        if constexpr (is_plain(f)) {
            const uint8_t* from = rows_.payload + (first_cell + thread / 32) * rows_.payload_step + thread % 32 * 16;
            f16_bits* to = tile + thread / 32 * kTilePitch + thread % 32 * 8;
#pragma unroll
            for (int i = 0; i < kPrefillCells / 8; ++i) {
                copy_16(to + 8 * i * kTilePitch, from);
                from += 8 * rows_.payload_step;
            }
        } else if constexpr (f == KvFormat::q2c) {  // two channels
            const int64_t group = first_cell / kKvGroupCells;
            copy_16(stage_, rows_.payload + group * rows_.payload_step + thread % 128 * 16);
            scale_ = __ldg(reinterpret_cast<const uint32_t*>(rows_.scales + group * rows_.scale_step) + thread % 128);
        } else {  // a block of 32
            const int64_t cell = first_cell + cell_of_thread();
            const int block = block_of_thread();
            const uint8_t* row = rows_.payload + cell * rows_.payload_step;
            if constexpr (f == KvFormat::q6_0) {
                copy_16(stage_, row + 16 * block);
                copy_16(stage_ + kPlane, row + kRowDim / 2 + block / 2 * 16);  // of two blocks
            } else {
#pragma unroll
                for (int i = 0; i < words_of_32(f) / 4; ++i) {
                    copy_16(stage_ + i * kPlane, row + (block * (words_of_32(f) / 4) + i) * 16);
                }
            }
            scale_ = __ldg(rows_.scales + cell * rows_.scale_step + block);
        }
    }

    // What `begin` copied has arrived.
    __device__ void unpack(f16_bits* tile, const Tables& tables) const {
        if constexpr (f == KvFormat::q2c) {
            unpack_channels(tile);
        } else if constexpr (!is_plain(f)) {
            uint32_t words[words_of_32(f)];
            load_16<false>(stage_, words);
            if constexpr (f == KvFormat::q6_0) {
                const uint2 tops = *reinterpret_cast<const uint2*>(stage_ + kPlane + block_of_thread() % 2 * 8);
                words[4] = tops.x, words[5] = tops.y;
            } else if constexpr (f == KvFormat::q8_0) {
                load_16<false>(stage_ + kPlane, words + 4);
            }
            const __half2 scale = __half2half2(__ushort_as_half(static_cast<uint16_t>(scale_)));
            f16_bits* to = tile + cell_of_thread() * kTilePitch + block_of_thread() * 32;
#pragma unroll
            for (int unit = 0; unit < 4; ++unit) {
                uint32_t pairs[4];
                unpack_cell<f>(words, unit, scale, tables, pairs);
                if constexpr (has_nibble_pairs(f)) from_nibble_order(pairs);
                *reinterpret_cast<uint4*>(to + 8 * unit) = {pairs[0], pairs[1], pairs[2], pairs[3]};
            }
        }
    }

  private:
    static constexpr int kPlane = 16 * kPrefillThreads;

    // Eight neighbours have eight cells: their stores meet in no bank.
    __device__ static int cell_of_thread() { return threadIdx.x % 8 + threadIdx.x / 64 * 8; }
    __device__ static int block_of_thread() { return threadIdx.x / 8 % 8; }

    // Two channels of 16 cells.
    __device__ void unpack_channels(f16_bits* tile) const {
        const int half = threadIdx.x / 128;
        const auto* words = reinterpret_cast<const uint32_t*>(stage_);
        const uint32_t first = words[half];
        const uint32_t second = words[2 + half];
        uint32_t* to = reinterpret_cast<uint32_t*>(tile + 16 * half * kTilePitch) + threadIdx.x % 128;
#pragma unroll
        for (int i = 0; i < 16; ++i) {
            to[i * (kTilePitch / 2)] = channel_pair(first, second, i, as_half2(scale_));
        }
    }

    BulkRows rows_;
    uint8_t* stage_;  // this thread's
    uint32_t scale_ = 0;
};

}  // namespace octavo::cuda
