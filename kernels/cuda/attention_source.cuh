// Cells as queries read them: from the bulk or from their FP16 copies, unpacked to FP16 in shared memory (BF16 where
// the cache is BF16). For rows of 256 values.
#pragma once

#include "kernels/cuda/attention_deal.h"
#include "kernels/cuda/kv_decode.cuh"
#include "kernels/cuda/kv_unpack.cuh"

namespace octavo::cuda {

inline constexpr int kTilePitch = kRowDim + 8;  // 16-bit values; eight rows that follow each other meet in no bank

// One side of a KV head.
struct Source {
    const Cache& cache;
    const Side& side;
    const f16_bits* fresh;  // [T][kv_heads][256] FP16 copies of the pass's own cells
    int64_t first_cell;     // of the pass
    int head;
    const float* new_row;  // [256] the pass's only cell instead; nullptr: see `fresh`

    __device__ const uint8_t* bulk(int64_t cell) const {
        return side.payload + unit_of(cache, side, cell, head) * side.payload_bytes;
    }
    __device__ const f16_bits* scales(int64_t cell) const {
        return side.scales + unit_of(cache, side, cell, head) * side.scale_count;
    }
    __device__ const f16_bits* copy(int64_t cell) const { return copy_of(cache, side, fresh, first_cell, cell, head); }
    __device__ bool is_new(int64_t cell) const { return new_row != nullptr && cell >= first_cell; }
};

__device__ inline bool is_masked(const Cache& cache, int64_t cell) {
    return cell >= cache.masked_first && cell < cache.masked_first + cache.masked_cells;
}

// Tiles of `cells` of which the queries from `first_position` on read every cell from the bulk, of K and of V.
__device__ inline TileRange bulk_tiles(const Cache& cache, int64_t first_position, int cells) {
    if (cache.masked_cells > 0) return {0, 0};  // every tile is looked at
    const bool copies = !cache.k.raw || !cache.v.raw;
    int64_t end = first_position + 1;
    if (copies) end = min(end, max(first_position - cache.window + 1, cache.window_from));
    if (cache.k.per_channel || cache.v.per_channel) {
        end = min(end, (first_position + 1) / kKvGroupCells * kKvGroupCells);
    }
    const auto first = static_cast<int>(copies ? ceil_div<int64_t>(cache.sinks, cells) : 0);
    return {first, max(first, static_cast<int>(max(end, int64_t{0}) / cells))};
}

// ---- unpacking ----

__device__ inline void fill_tables(Tables& tables) {
    for (int i = threadIdx.x; i < 16; i += blockDim.x) tables.two_bits[i] = pack_f16(q2_level(i % 4), q2_level(i / 4));
    for (int i = threadIdx.x; i < 256; i += blockDim.x) {
        tables.four_bits[i] = pack_f16(q4_nl_level(i % 16), q4_nl_level(i / 16));
    }
}

// 32 values of a row, in order.
template <KvFormat f>
__device__ inline void unpack_block(const uint8_t* row, __half scale, int block, const Tables& tables, uint4 (&to)[4]) {
    uint32_t words[words_of_32(f)];
    load_block<f>(row, block, words);
#pragma unroll
    for (int unit = 0; unit < 4; ++unit) {
        uint32_t pairs[4];
        unpack_cell<f>(words, unit, __half2half2(scale), tables, pairs);
        if constexpr (has_nibble_pairs(f)) from_nibble_order(pairs);
        to[unit] = {pairs[0], pairs[1], pairs[2], pairs[3]};
    }
}

template <KvFormat f>
__device__ inline void bulk_block(const Source& from, int64_t cell, int block, const Tables& tables, uint4 (&to)[4]) {
    const uint8_t* row = from.bulk(cell);
    const f16_bits* scales = from.scales(cell);
    const int at = from.side.scale_count > 1 ? block : 0;  // one scale a block, or one a row
    const __half scale = from.side.raw ? __half() : __ushort_as_half(__ldg(scales + at));
    if constexpr (f == kAnyFormat) {
        with_row_format(from.side.format,
                        [&](auto format) { unpack_block<decltype(format)::value>(row, scale, block, tables, to); });
    } else if constexpr (f != KvFormat::q2c) {
        unpack_block<f>(row, scale, block, tables, to);
    }
}

__device__ inline void copied_block(const Source& from, int64_t cell, int block, uint4 (&to)[4]) {
    if (from.is_new(cell)) {
        const auto* values = reinterpret_cast<const float4*>(from.new_row + 32 * block);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const float4 a = values[2 * i];
            const float4 b = values[2 * i + 1];
            to[i] = {pack_f16(a.x, a.y), pack_f16(a.z, a.w), pack_f16(b.x, b.y), pack_f16(b.z, b.w)};
        }
        return;
    }
    const auto* row = reinterpret_cast<const uint4*>(from.copy(cell) + 32 * block);
#pragma unroll
    for (int i = 0; i < 4; ++i) to[i] = row[i];
}

// Where a tile's cell comes from.
enum class Origin { none, bulk, copy };

// Two bits per channel: the codes of 32 cells lie together. A thread takes two channels of 16 cells.
template <int cells, class OriginOf>
__device__ inline void fill_channels(const Source& from, int64_t first, OriginOf&& origin, f16_bits* tile) {
    constexpr int kCells = 16;
    for (int unit = threadIdx.x; unit < cells / kCells * kRowDim / 2; unit += blockDim.x) {
        const int channel = unit % (kRowDim / 2) * 2;
        const int cell0 = unit / (kRowDim / 2) * kCells;
        unsigned wanted = 0;
#pragma unroll
        for (int i = 0; i < kCells; ++i) wanted |= (origin(first + cell0 + i) == Origin::bulk ? 1u : 0u) << i;
        if (wanted == 0) continue;
        const auto* words =
            reinterpret_cast<const uint32_t*>(from.bulk(first + cell0)) + channel * 2 + cell0 % kKvGroupCells / kCells;
        const uint32_t codes[2] = {__ldg(words), __ldg(words + 2)};
        const auto* scales = reinterpret_cast<const uint32_t*>(from.scales(first + cell0) + channel);
        const __half2 both = as_half2(__ldg(scales));
#pragma unroll
        for (int i = 0; i < kCells; ++i) {
            if ((wanted >> i & 1u) == 0) continue;
            auto* to = reinterpret_cast<uint32_t*>(tile + (cell0 + i) * kTilePitch + channel);
            *to = channel_pair(codes[0], codes[1], i, both);
        }
    }
}

// Cells [first, first + cells) to tile[cells][kTilePitch], by all threads of the block. `origin(cell)`: none leaves
// zeros. `f`: the format, or kAnyFormat. A thread has `together` blocks of 32 values under way at once.
template <KvFormat f, int cells, int together = 1, class OriginOf>
__device__ inline void fill_tile(const Source& from, int64_t first, const Tables& tables, OriginOf&& origin,
                                 f16_bits* tile) {
    constexpr int kBlocks = kRowDim / 32;
    const bool channels = f == kAnyFormat ? from.side.per_channel : f == KvFormat::q2c;
#pragma unroll 1
    for (int unit0 = threadIdx.x; unit0 < cells * kBlocks; unit0 += together * blockDim.x) {
        uint4 values[together][4] = {};
        Origin sources[together];
#pragma unroll
        for (int i = 0; i < together; ++i) {
            const int unit = unit0 + i * blockDim.x;
            const int64_t cell = first + unit / kBlocks;
            sources[i] = unit < cells * kBlocks ? origin(cell) : Origin::none;
            if (sources[i] == Origin::bulk && !channels) bulk_block<f>(from, cell, unit % kBlocks, tables, values[i]);
            if (sources[i] == Origin::copy) copied_block(from, cell, unit % kBlocks, values[i]);
        }
#pragma unroll
        for (int i = 0; i < together; ++i) {
            const int unit = unit0 + i * blockDim.x;
            if (unit >= cells * kBlocks || (channels && sources[i] == Origin::bulk)) continue;
            auto* to = reinterpret_cast<uint4*>(tile + unit / kBlocks * kTilePitch + 32 * (unit % kBlocks));
#pragma unroll
            for (int j = 0; j < 4; ++j) to[j] = values[i][j];
        }
    }
    if constexpr (f == kAnyFormat || f == KvFormat::q2c) {
        if (channels) fill_channels<cells>(from, first, origin, tile);
    }
}

}  // namespace octavo::cuda
