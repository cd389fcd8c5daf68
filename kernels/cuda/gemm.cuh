// Products of weights with many tokens, in tiles: y[token][row] = W[row] . x[token]. Also for tokens picked by a list,
// in groups that each have a matrix of their own (experts).
//
// Either in float32 throughout, or with FP16 factors on the tensor cores and float32 sums. Each row of x is then scaled
// by a power of two of its own, so that any finite inputs fit; weights are taken as they are. Weights of 65520 and
// above become infinite, and give infinities or NaN, never a finite wrong result; below 2^-14 they lose bits, at most
// 2^-25 each. Inputs that are infinite, or no numbers, give results that are not finite. (BF16 factors have float32's
// range, but 8 bits instead of 11: that tipped 15 of 800 choices of experts in a test model, FP16 one. GPU.md.)
#pragma once

#include "kernels/cuda/weights.cuh"

namespace octavo::cuda {

// x [rows][cols] as FP16 numbers; what a row is to be multiplied with after that.
struct Factors {
    const uint16_t* values = nullptr;  // [rows][factor_stride(cols)], zeros behind the last column
    const float* scales = nullptr;     // [rows]
};
__host__ __device__ inline int64_t factor_stride(int64_t cols) { return (cols + 7) / 8 * 8; }
inline int64_t factor_value_bytes(int64_t rows, int64_t cols) {
    return (rows * factor_stride(cols) * 2 + 255) / 256 * 256;
}
inline int64_t factor_bytes(int64_t rows, int64_t cols) { return factor_value_bytes(rows, cols) + rows * 4; }
// `memory` [factor_bytes(rows, cols)], 256-byte aligned.
Factors make_factors(const float* x, int64_t rows, int64_t cols, int64_t stride, std::byte* memory,
                     cudaStream_t stream);

// Some tokens of a group: those of the list entries [first, first + count).
struct GemmTile {
    int32_t group, first, count;
};

// A second matrix of the same type and shape over the same x, in the same launch.
struct GemmTwin {
    DeviceMatrix w;
    const float* group_scales = nullptr;
    float* y = nullptr;  // nullptr: there is none
};

struct Gemm {
    DeviceMatrix w;  // of group 0
    GemmTwin twin;
    const float* x = nullptr;
    int64_t x_stride = 0;  // floats
    Factors factors;       // of x; none: float32 throughout
    float* y = nullptr;
    int64_t y_stride = 0;
    int tokens = 0;        // of all groups
    int usual_tokens = 0;  // of a group
    bool accumulate = false;
    bool tensor_cores = false;  // may be used for float32, with TF32 parts (gemm_exact.cuh); from 8.0 on

    // Groups: group g has the matrix that lies g * group_bytes behind `w`.
    int64_t group_bytes = 0;
    const float* group_scales = nullptr;  // [groups], kScaleStride apart: of their matrices; nullptr: w.scale
    const GemmTile* tiles = nullptr;      // [most_tiles], of at most gemm_tile(usual_tokens) tokens; nullptr: one group
    int most_tiles = 0;                   // those behind the last have no tokens
    const int32_t* x_tokens = nullptr;    // [entries] which row of x; nullptr: the entry's own number
    const int32_t* y_tokens = nullptr;    // [entries] which row of y; nullptr: the entry's own number
};
int gemm_tile(int usual_tokens);  // most tokens of a tile

// F32 weights always stay float32: files keep those so whose rounding would be felt.
void run_gemm(const Gemm& gemm, cudaStream_t stream);
// Narrow products are choices and gates, whose rounding is felt most and whose cost is least.
inline bool wants_float32(const DeviceMatrix& w) { return w.type == WeightType::f32 || w.rows * 8 <= w.cols; }

void prepare_gemm();  // once, before anything else

}  // namespace octavo::cuda
