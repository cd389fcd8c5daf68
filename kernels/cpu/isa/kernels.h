// The functions of this folder that isa_table.cpp puts into the table; what they do is said in
// kernels/cpu/isa_kernels.h.
#pragma once

#include "kernels/cpu/isa_kernels.h"

namespace octavo::OCTAVO_ISA {

#if defined(__AVX512F__)
inline constexpr int kDotTileTokens = 6;
#else
inline constexpr int kDotTileTokens = 3;
#endif
using Dot = void(const DotProducts& op);
Dot dot_f32, dot_f16, dot_bf16, dot_q8_0, dot_f8_e4m3, dot_f8_e4m3_blocks;
using Unpack = void(const std::byte* weights, const std::byte* block_scales, int64_t count, float* values);
Unpack unpack_f32, unpack_f16, unpack_bf16, unpack_q8_0, unpack_f8_e4m3, unpack_f8_e4m3_blocks;

void silu_mul(const float* gate, const float* up, int rows, int width, float* y, int64_t y_stride);
void add_scaled_rows(const float* x, const float* scale, const int32_t* y_rows, int rows, int width, float* y,
                     int64_t y_stride);
void add_rows(const float* x, int rows, int width, float* y, int64_t y_stride);
void rms_norm(const float* x, const float* weight, int width, float eps, float* y);
void gated_norm(const float* x, const float* z, const float* weight, int width, float eps, float* y);
void rope(float* head, const float* cos, const float* sin, int rope_dims);

}  // namespace octavo::OCTAVO_ISA
