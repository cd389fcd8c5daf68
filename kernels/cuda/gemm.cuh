// Products of weights with many tokens, in tiles: y[token][row] = W[row] . x[token]. Also for tokens picked by a list,
// in groups that each have a matrix of their own (experts).
#pragma once

#include "kernels/cuda/weights.cuh"

namespace octavo::cuda {

struct Gemm {
    DeviceMatrix w;  // of group 0
    const float* x = nullptr;
    int64_t x_stride = 0;  // floats
    float* y = nullptr;
    int64_t y_stride = 0;
    int tokens = 0;  // most of a group
    bool accumulate = false;

    // Groups: group g has matrix w.data + g * group_bytes and the list entries [starts[g], starts[g + 1]).
    int groups = 1;
    int64_t group_bytes = 0;
    const int32_t* starts = nullptr;    // nullptr: one group, all tokens
    const int32_t* x_tokens = nullptr;  // [entries] which row of x; nullptr: the entry's own number
    const int32_t* y_tokens = nullptr;  // [entries] which row of y; nullptr: the entry's own number
};

// In float32 throughout, or with 16-bit factors on the tensor cores. F32 weights always stay float32: files keep those
// so whose rounding would be felt, such as the router, where it changes the choice of experts.
void run_gemm(const Gemm& gemm, bool float32, cudaStream_t stream);

}  // namespace octavo::cuda
