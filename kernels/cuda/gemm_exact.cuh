// Products of many tokens with few rows, as exact as float32 but on the tensor cores: each factor is the sum of two
// TF32 numbers, which have 22 bits together, and of their four products the three that count are summed. From 8.0 on.
//
// A block has 16 rows and 32 tokens; its warps take 32 columns in turn and add their sums in a fixed order. Lane
// (g = l / 4, t = l % 4) has of each 32 the columns 8 t to 8 t + 7, of the rows g and g + 8 and of token g of every
// eight.
#pragma once

#include "kernels/cuda/gemm.cuh"
#include "kernels/cuda/mma.cuh"

namespace octavo::cuda {

inline constexpr int kExactRows = 16, kExactTokens = 32, kExactWarps = 8;

struct TwoParts {
    uint32_t large, small;  // TF32
};
__device__ inline TwoParts two_parts(float value) {
    const uint32_t large = to_tf32(value);
    return {large, to_tf32(value - __uint_as_float(large))};
}

template <WeightType type>
__device__ inline void exact_sums(const Gemm& g, int64_t first_row, int first_token,
                                  float (&sums)[kExactTokens / 8][4]) {
    const int lane = threadIdx.x % kWarp;
    const DeviceMatrix& w = g.w;
    const WeightRow low = weight_row<type>(w, min(first_row + lane / 4, w.rows - 1));
    const WeightRow high = weight_row<type>(w, min(first_row + lane / 4 + 8, w.rows - 1));
    const bool wide = w.cols % 8 == 0 && g.x_stride % 4 == 0 && reinterpret_cast<uintptr_t>(g.x) % 16 == 0;
    for (int64_t k = threadIdx.x / kWarp * 32; k < w.cols; k += kExactWarps * 32) {
        const int64_t column = k + lane % 4 * 8;
        float values[2][8] = {};
        if (column < w.cols) {
            weights_at<type>(w, low, column, values[0]);
            weights_at<type>(w, high, column, values[1]);
        }
        TwoParts a[2][8];
#pragma unroll
        for (int i = 0; i < 8; ++i) a[0][i] = two_parts(values[0][i]), a[1][i] = two_parts(values[1][i]);
#pragma unroll
        for (int n = 0; n < kExactTokens / 8; ++n) {
            const float* const x = g.x + min(first_token + n * 8 + lane / 4, g.tokens - 1) * g.x_stride;
            float inputs[8] = {};
            if (column < w.cols)
                wide ? inputs_at<true>(x, column, w.cols, inputs) : inputs_at<false>(x, column, w.cols, inputs);
#pragma unroll
            for (int i = 0; i < 8; i += 2) {
                const TwoParts b0 = two_parts(inputs[i]), b1 = two_parts(inputs[i + 1]);
                const uint32_t large[4] = {a[0][i].large, a[1][i].large, a[0][i + 1].large, a[1][i + 1].large};
                const uint32_t small[4] = {a[0][i].small, a[1][i].small, a[0][i + 1].small, a[1][i + 1].small};
                mma_tf32(sums[n], small, b0.large, b1.large);
                mma_tf32(sums[n], large, b0.small, b1.small);
                mma_tf32(sums[n], large, b0.large, b1.large);
            }
        }
    }
}

__global__ void __launch_bounds__(kExactWarps* kWarp) exact_kernel(Gemm g) {
    __shared__ float parts[kExactWarps][kExactTokens][kExactRows + 1];
    const int first_token = static_cast<int>(blockIdx.x) * kExactTokens;
    const int64_t first_row = int64_t{blockIdx.y} * kExactRows;
    float sums[kExactTokens / 8][4] = {};
    with_weight_type<WeightTypes::all>(
        g.w.type, [&](auto type) { exact_sums<decltype(type)::value>(g, first_row, first_token, sums); });
    const int lane = threadIdx.x % kWarp;
#pragma unroll
    for (int n = 0; n < kExactTokens / 8; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i)
            parts[threadIdx.x / kWarp][n * 8 + lane % 4 * 2 + i % 2][lane / 4 + i / 2 * 8] = sums[n][i];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < kExactTokens * kExactRows; i += kExactWarps * kWarp) {
        const int token = i / kExactRows;
        const int row = i % kExactRows;
        if (first_token + token >= g.tokens || first_row + row >= g.w.rows) continue;
        float sum = 0;
#pragma unroll
        for (int warp = 0; warp < kExactWarps; ++warp) sum += parts[warp][token][row];
        float& y = g.y[(first_token + token) * g.y_stride + first_row + row];
        y = (g.accumulate ? y : 0.0f) + g.w.scale * sum;
    }
}

}  // namespace octavo::cuda
