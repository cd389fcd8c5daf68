// How a block's sums leave it: from fragments to rows in shared memory, out of the cache's basis, to memory.
#pragma once

#include "kernels/cuda/attention_decode.cuh"

namespace octavo::cuda::decode {

// Between the dimensions of plain numbers and those of a format, through `rows`: see row_place.
template <KvFormat f, int fragments>
__device__ inline void put_rows(const float (&o)[fragments][4], float* rows) {
    const int lane = threadIdx.x % kWarp;
    const int dims = static_cast<int>(threadIdx.x) / kWarp * 64;
#pragma unroll
    for (int odd = 0; odd < 2; ++odd) {
        float* const row = rows + row_start(lane % 4 * 2 + odd) + row_place(dims);
#pragma unroll
        for (int m = 0; m < 4; ++m) {
            float* const low = row + row_place(value_dimension<f>(m, lane / 4, 0));
            if constexpr (is_plain(f)) {
                low[0] = o[m][odd], low[8] = o[m][odd + 2];
            } else {
                *reinterpret_cast<float2*>(low) = {o[m][odd], o[m][odd + 2]};
            }
        }
    }
}
template <KvFormat f, int fragments>
__device__ inline void get_rows(const float* rows, float (&o)[fragments][4]) {
    const int lane = threadIdx.x % kWarp;
    const int dims = static_cast<int>(threadIdx.x) / kWarp * 64;
#pragma unroll
    for (int odd = 0; odd < 2; ++odd) {
        const float* const row = rows + row_start(lane % 4 * 2 + odd) + row_place(dims);
#pragma unroll
        for (int m = 0; m < 4; ++m) {
            const float* const low = row + row_place(value_dimension<f>(m, lane / 4, 0));
            o[m][odd] = low[0], o[m][odd + 2] = low[is_plain(f) ? 8 : 1];
        }
    }
}

// The Hadamard transform of 16 values, times four.
__device__ inline void rotate_16(float (&x)[16]) {
#pragma unroll
    for (int half = 1; half < 16; half *= 2) {
#pragma unroll
        for (int i = 0; i < 16; ++i) {
            if ((i & half) != 0) continue;
            const float a = x[i];
            const float b = x[i + half];
            x[i] = a + b;
            x[i + half] = a - b;
        }
    }
}

// Writes the block's share, out of the cache's basis; `rows` as `put_rows` leaves them. Sixteen threads to a query.
template <int cells>
__device__ inline void write_share(const SplitAttention& op, int64_t row0, int queries, Softmax& state, float* rows,
                                   Shared<cells>& shared) {
    const int lane = threadIdx.x % kWarp;
    const int warp = threadIdx.x / kWarp;
    float* const weights = rows + kRowFloats;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
        for (int offset = 4; offset < kWarp; offset *= 2) {
            state.sum[i] += __shfl_xor_sync(kAllLanes, state.sum[i], offset);
        }
        if (lane < 4) weights[warp * kQueries + 2 * lane + i] = state.sum[i];
        if (lane < 4 && warp == 0) shared.largest[0][2 * lane + i] = state.largest[i];
    }
    __syncthreads();
    static_assert(kThreads == kQueries * 16);
    const int query = static_cast<int>(threadIdx.x) / 16;
    const int part = static_cast<int>(threadIdx.x) % 16;
    float* const row = rows + row_start(query);
    float x[16];
    if (op.cache.v.rotate) {
        auto* const own = reinterpret_cast<float2*>(row + row_place(16 * part));
#pragma unroll
        for (int i = 0; i < 8; ++i) x[2 * i] = own[i].x, x[2 * i + 1] = own[i].y;
        rotate_16(x);
#pragma unroll
        for (int i = 0; i < 8; ++i) own[i] = {x[2 * i], x[2 * i + 1]};
        __syncwarp();
    }
#pragma unroll
    for (int i = 0; i < 16; ++i) x[i] = row[row_place(16 * i) + part];
    if (op.cache.v.rotate) {
        rotate_16(x);
#pragma unroll
        for (float& value : x) value *= 1.0f / 16;  // sqrt(256)
    }
    if (query >= queries) return;
    const int64_t at = (row0 + query) * op.splits + blockIdx.x;
#pragma unroll
    for (int i = 0; i < 16; ++i) op.sums[at * kRowDim + 16 * i + part] = x[i];
    if (part > 0) return;
    float sum = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) sum += weights[w * kQueries + query];
    op.softmax[at] = {shared.largest[0][query], sum};
}

}  // namespace octavo::cuda::decode
