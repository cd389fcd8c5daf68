// Products of weights with many tokens, in tiles: y[token][row] = W[row] . x[token]. Also for tokens picked by a list,
// in groups that each have a matrix of their own (experts).
#pragma once

#include "kernels/cuda/weights.cuh"

namespace octavo::cuda {

struct Gemm {
    DeviceMatrix w;  // of group 0
    const float* x = nullptr;
    int64_t x_stride = 0;               // floats
    const uint16_t* factors = nullptr;  // x as make_factors writes it; nullptr: float32 throughout
    int64_t factor_stride = 0;
    float* y = nullptr;
    int64_t y_stride = 0;
    int tokens = 0;        // most of a group
    int usual_tokens = 0;  // of a group
    bool accumulate = false;

    // Groups: group g has the matrix that lies g * group_bytes behind `w`, and the list entries
    // [starts[g], starts[g + 1]).
    int groups = 1;
    int64_t group_bytes = 0;
    const float* group_scales = nullptr;  // [groups], kScaleStride apart: of their matrices; nullptr: w.scale
    const int32_t* starts = nullptr;      // nullptr: one group, all tokens
    const int32_t* x_tokens = nullptr;    // [entries] which row of x; nullptr: the entry's own number
    const int32_t* y_tokens = nullptr;    // [entries] which row of y; nullptr: the entry's own number
};

// In float32 throughout, or with 16-bit factors on the tensor cores. F32 weights always stay float32: files keep those
// so whose rounding would be felt, such as the router, where it changes the choice of experts.
void run_gemm(const Gemm& gemm, cudaStream_t stream);

// x [rows][cols] as factors [rows][factor_stride(cols)], zeros behind the last column.
inline int64_t factor_stride(int64_t cols) { return (cols + 7) / 8 * 8; }
inline int64_t factor_bytes(int64_t rows, int64_t cols) { return rows * factor_stride(cols) * 2; }
void make_factors(const float* x, int64_t rows, int64_t cols, int64_t stride, uint16_t* factors, cudaStream_t stream);

void prepare_gemm();  // once, before anything else

}  // namespace octavo::cuda
