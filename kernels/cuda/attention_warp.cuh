// What a warp of attention does outside its long loop: its queries, tiles of every kind, and which tiles are of one
// kind.
#pragma once

#include "kernels/cuda/attention_tile.cuh"
#include "kernels/cuda/kv_encode.cuh"

namespace octavo::cuda {

inline constexpr float kLog2E = 1.44269504f;

// Which cells of a tile may be attended, and which of them are read as FP16 copies. A lane looks at one cell.
struct TileMasks {
    uint32_t valid, k_copies, v_copies;
};

__device__ inline TileMasks tile_masks(const Cache& cache, int64_t position, int64_t first_cell) {
    const int64_t cell = first_cell + threadIdx.x % kWarp;
    const bool masked = cell >= cache.masked_first && cell < cache.masked_first + cache.masked_cells;
    const bool valid = cell <= position && !masked;
    return {__ballot_sync(kAllLanes, valid),
            __ballot_sync(kAllLanes, valid && reads_copy(cache, cache.k, position, cell)),
            __ballot_sync(kAllLanes, valid && reads_copy(cache, cache.v, position, cell))};
}

// Tiles of which the query reads every cell from the bulk, of K and of V.
struct TileRange {
    int64_t first, end;
};

__device__ inline TileRange bulk_tiles(const Cache& cache, int64_t position) {
    if (cache.masked_cells > 0) return {0, 0};  // every tile is looked at
    const bool copies = !cache.k.raw || !cache.v.raw;
    int64_t end = position + 1;  // cells
    if (copies) end = min(end, max(position - cache.window + 1, cache.window_from));
    if (cache.k.per_channel || cache.v.per_channel) end = min(end, (position + 1) / kKvGroupCells * kKvGroupCells);
    const int64_t first = copies ? ceil_div<int64_t>(cache.sinks, kTileCells) : 0;
    return {first, max(first, max(end, int64_t{0}) / kTileCells)};
}

template <KvFormat kf>
__device__ inline void load_queries(const float* q, bool there, bool bf16, uint32_t (&to)[8][4]) {
    const int t = threadIdx.x % 4;
#pragma unroll
    for (int unit = 0; unit < 8; ++unit) {
#pragma unroll
        for (int pair = 0; pair < 4; ++pair) {
            int first, second;
            pair_dimensions<kf>(unit, pair, t, first, second);
            const float scale = kLog2E / 16.0f;  // sqrt(256)
            const float a = there ? q[first] * scale : 0.0f;
            const float b = there ? q[second] * scale : 0.0f;
            to[unit][pair] = bf16 ? pack_bf16(a, b) : pack_f16(a, b);
        }
    }
}

__device__ inline void fill_tables(Tables& tables) {
    for (int i = threadIdx.x; i < 16; i += blockDim.x) tables.two_bits[i] = pack_f16(q2_level(i % 4), q2_level(i / 4));
    for (int i = threadIdx.x; i < 256; i += blockDim.x) {
        tables.four_bits[i] = pack_f16(q4_nl_level(i % 16), q4_nl_level(i / 16));
    }
    __syncthreads();
}

// Nothing attended yet. q [queries][256]: column g of the warp reads row g, where there are that many.
template <KvFormat kf>
__device__ inline void start_warp(const float* q, int queries, bool bf16, WarpState& state) {
    const int column = threadIdx.x % kWarp / 4;
    load_queries<kf>(q + column * kRowDim, column < queries, bf16, state.q);
#pragma unroll
    for (int m = 0; m < 16; ++m) {
#pragma unroll
        for (int i = 0; i < 4; ++i) state.o[m][i] = 0;
    }
    state.largest[0] = state.largest[1] = -INFINITY;
    state.sum[0] = state.sum[1] = 0;
}

// A tile that may be part copies, part bulk, of K and of V: it is attended part by part.
template <KvFormat kf, KvFormat vf>
__device__ inline void attend_any(const Source& k, const Source& v, int64_t position, int64_t tile,
                                  const Tables& tables, WarpState& state) {
    const int64_t cell = tile * kTileCells;
    const TileMasks masks = tile_masks(k.cache, position, cell);
    for (int part = 0; part < 4; ++part) {
        const bool k_copies = (part & 1) != 0;
        const bool v_copies = (part & 2) != 0;
        const uint32_t mask =
            masks.valid & (k_copies ? masks.k_copies : ~masks.k_copies) & (v_copies ? masks.v_copies : ~masks.v_copies);
        if (mask != 0) attend_tile<kf, vf>(k, v, k_copies, v_copies, {cell, mask}, tables, state);
    }
}

}  // namespace octavo::cuda
