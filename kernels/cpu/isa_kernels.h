// The table through which the fast CPU back end calls code that is compiled once per instruction set. Everything here
// is raw pointers and plain numbers: see the trap note in isa/simd.h.
//
// Files of kernels/cpu/ (compiled for any machine) split an operation into tasks; the functions here do one task's
// arithmetic.
#pragma once

#include <cstddef>
#include <cstdint>

namespace octavo {

// y[t][r] = sum over k of w[r][k] * x[t][k], or += with `accumulate`.
struct DotProducts {
    const std::byte* w = nullptr;  // [rows][row_bytes]
    int64_t row_bytes = 0;
    int rows = 0;
    int64_t cols = 0;
    const float* x = nullptr;  // token t's row is x + (x_rows ? x_rows[t] : t) * x_stride
    int64_t x_stride = 0;      // floats
    const int32_t* x_rows = nullptr;
    int tokens = 0;
    float* y = nullptr;    // [tokens][y_stride], the first `rows` of each
    int64_t y_stride = 0;  // floats
    bool accumulate = false;
};

inline constexpr int kIsaWeightTypes = 4;  // as many as enum WeightType has, in its order

struct IsaKernels {
    // Dense products (isa/dot.cpp). `dot` reads a weight once per tile_tokens tokens, so above that many tokens it is
    // cheaper to unpack the weights to float32 first; the result is the same to the bit.
    int tile_tokens;
    void (*dot[kIsaWeightTypes])(const DotProducts& op);
    void (*unpack[kIsaWeightTypes])(const std::byte* weights, int64_t count, float* values);

    // One row each (isa/pointwise.cpp)
    void (*silu_mul)(float* gate, const float* up, int64_t count);                // gate = SiLU(gate) * up
    void (*add_scaled)(float* sum, const float* x, float factor, int64_t count);  // sum += factor * x
    void (*rms_norm)(const float* x, const float* weight, int width, float eps, float* y);
    void (*gated_norm)(const float* x, const float* z, const float* weight, int width, float eps, float* y);
    void (*rope)(float* head, const float* cos, const float* sin, int rope_dims);  // in place
};

namespace generic {
const IsaKernels& isa_kernels();
}
namespace avx2 {
const IsaKernels& isa_kernels();
}
namespace avx512 {
const IsaKernels& isa_kernels();
}

}  // namespace octavo
