// How a block's sums leave it: as they lie in fragments.
#pragma once

#include "kernels/cuda/attention_decode.cuh"

namespace octavo::cuda::decode {

// From the order of plain numbers to that of a format, through `rows`: see row_place.
template <KvFormat f, int fragments>
__device__ inline void reorder(float (&o)[fragments][4], float* rows) {
    if constexpr (!is_plain(f)) {
        const int lane = threadIdx.x % kWarp;
        const int dims = static_cast<int>(threadIdx.x) / kWarp * 64;
        const auto place = [&](KvFormat order, int m, int i) {
            return rows + row_start(lane % 4 * 2 + i % 2) +
                   row_place(dims + value_dimension(order, m, lane / 4, i / 2));
        };
#pragma unroll
        for (int m = 0; m < 4; ++m) {
#pragma unroll
            for (int i = 0; i < 4; ++i) *place(KvFormat::f16, m, i) = o[m][i];
        }
        __syncthreads();
#pragma unroll
        for (int m = 0; m < 4; ++m) {
#pragma unroll
            for (int i = 0; i < 4; ++i) o[m][i] = *place(f, m, i);
        }
        __syncthreads();
    }
}

// Writes the block's share. The transform out of the cache's basis is one of each bit of a dimension's number: those
// that tell a thread's eight values of a query apart are done here, the others' turn comes when shares have been added
// up. Value (m, i) of row g of warp w lies at 32 (2 m + i) + 8 w + g.
template <int cells, int fragments>
__device__ inline void write_share(const SplitAttention& op, int64_t row0, int queries, Softmax& state,
                                   const float (&o)[fragments][4], Shared<cells>& shared) {
    const int lane = threadIdx.x % kWarp;
    const int warp = threadIdx.x / kWarp;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
        for (int offset = 4; offset < kWarp; offset *= 2) {
            state.sum[i] += __shfl_xor_sync(kAllLanes, state.sum[i], offset);
        }
        if (lane < 4) shared.largest[warp][2 * lane + i] = state.sum[i];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const int query = lane % 4 * 2 + i;
        const int64_t at = (row0 + query) * op.splits + blockIdx.x;
        float x[8];
#pragma unroll
        for (int j = 0; j < 8; ++j) x[j] = o[j / 2][j % 2 * 2 + i];
        if (op.cache.v.rotate) transform_own(x);
        if (query >= queries) continue;
#pragma unroll
        for (int j = 0; j < 8; ++j) op.sums[at * kRowDim + 32 * j + 8 * warp + lane / 4] = x[j];
        if (threadIdx.x >= 4) continue;
        float sum = 0;
#pragma unroll
        for (int w = 0; w < kWarps; ++w) sum += shared.largest[w][query];
        op.softmax[at] = {state.largest[i], sum};
    }
}

}  // namespace octavo::cuda::decode
