// The table through which the fast CPU back end calls code that is compiled once per instruction set. Everything here
// is raw pointers and plain numbers: see the trap note in isa/simd.h.
//
// Files of kernels/cpu/ (compiled for any machine) split an operation into tasks; the functions here do one task's
// arithmetic.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/mixer_kernels.h"

namespace octavo {

struct Int8Block;

// y[t][r] = scale * sum over k of w[r][k] * x[t][k], or += with `accumulate`.
struct DotProducts {
    const std::byte* w = nullptr;  // [rows][row_bytes]
    int64_t row_bytes = 0;
    // Of types that keep the scales of blocks apart, [rows][scale_row_bytes]. Where rows share a row of scales it
    // begins with that of the first row, which `sharing_before` rows before it have too.
    const std::byte* block_scales = nullptr;
    int64_t scale_row_bytes = 0;
    int sharing_before = 0;
    int rows = 0;
    int64_t cols = 0;
    float scale = 1;
    // Weights that the thread will probably read after these: kernels may ask for them while they work on the last
    // rows.
    const std::byte* next_w = nullptr;
    int64_t next_bytes = 0;
    const float* x = nullptr;  // token t's row is x + (x_rows ? x_rows[t] : t) * x_stride
    int64_t x_stride = 0;      // floats
    // The same tokens rounded to 8 bits, for weights that have kernels of that kind (int8_kernels.h): [..][cols / 32],
    // at the same row numbers.
    const Int8Block* x_int8 = nullptr;
    const int32_t* x_rows = nullptr;
    int tokens = 0;
    float* y = nullptr;    // [tokens][y_stride], the first `rows` of each
    int64_t y_stride = 0;  // floats
    bool accumulate = false;
};

// Of the types in the order of enum WeightType, the first that have kernels of their own here. Rows of all others are
// unpacked by the decoder in the table of weight types.
inline constexpr int kIsaWeightTypes = 6;

struct IsaKernels {
    // Dense products (isa/dot.cpp). Up to direct_tokens it is faster to read the weights in their own format, above it
    // to unpack them to float32 first; the result is the same to the bit.
    int direct_tokens[kIsaWeightTypes];
    void (*dot[kIsaWeightTypes])(const DotProducts& op);
    // `block_scales`, of types that keep them apart: those of the row, and `count` is of one row.
    void (*unpack[kIsaWeightTypes])(const std::byte* weights, const std::byte* block_scales, int64_t count,
                                    float* values);

    // Dense [rows][width] into rows of y that lie y_stride floats apart (isa/pointwise.cpp)
    // y = SiLU(gate) * up
    void (*silu_mul)(const float* gate, const float* up, int rows, int width, float* y, int64_t y_stride);
    // row y_rows[i] (y_rows is nullptr: i) of y += scale[i] * x row i
    void (*add_scaled_rows)(const float* x, const float* scale, const int32_t* y_rows, int rows, int width, float* y,
                            int64_t y_stride);
    // y += x
    void (*add_rows)(const float* x, int rows, int width, float* y, int64_t y_stride);
    // One row each (isa/pointwise.cpp)
    void (*rms_norm)(const float* x, const float* weight, int width, float eps, float* y);
    void (*gated_norm)(const float* x, const float* z, const float* weight, int width, float eps, float* y);
    void (*rope)(float* head, const float* cos, const float* sin, int rope_dims);  // in place

    // Attention (isa/attention.cpp): one piece of cells for a tile of query rows.
    void (*attend_piece)(const AttentionPiece& piece);
    // total <- total and next, for each row; a row without cells (sum 0) changes nothing.
    void (*merge_attention)(int rows, int width, const AttentionPartial& next, const AttentionPartial& total);
    // out = total / sum, out of the cache's basis, * sigmoid(gate)
    void (*finish_attention)(const AttentionFinish& op);
    // The KV cache. In place: the rotation of kernels/kv_hadamard.h (isa/hadamard.cpp), x /= divisor.
    void (*rotate_row)(float* x, int length);
    void (*divide_row)(float* x, const float* divisor, int count);
    // float16 copies of x[count]
    void (*round_row)(const float* x, int count, uint16_t* halves);
    // False when a value is not finite or too large for the format (isa/kv_encode*.cpp).
    bool (*encode_kv_rows)(const KvEncodeRows& op);
    bool (*encode_kv_group)(const KvEncodeGroup& op);
    // Cells as float32, as a query at `position` reads them (isa/kv_tile.h).
    void (*fill_kv_tile)(const SideCells& side, int64_t first_cell, int from, int to, int64_t position, float* tile);
    // Convolution and SiLU, then the new state (isa/causal_conv.cpp).
    void (*convolve_channels)(const ConvChannels& conv);
    // isa/gated_delta.cpp. y[width] = x / sqrt(sum of x^2 + 1e-6) * scale, zero from `count` on.
    void (*normalise_row)(const float* x, int count, float scale, float* y, int width);
    void (*delta_recurrent)(const DeltaHead& head);
    void (*delta_chunked)(const DeltaHead& head, float* scratch);
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
