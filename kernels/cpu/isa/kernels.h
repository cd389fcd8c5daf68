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
void dot_f32(const DotProducts& op);
void dot_f16(const DotProducts& op);
void dot_bf16(const DotProducts& op);
void dot_q8_0(const DotProducts& op);
void dot_f8_e4m3(const DotProducts& op);
void unpack_f32(const std::byte* weights, int64_t count, float* values);
void unpack_f16(const std::byte* weights, int64_t count, float* values);
void unpack_bf16(const std::byte* weights, int64_t count, float* values);
void unpack_q8_0(const std::byte* weights, int64_t count, float* values);
void unpack_f8_e4m3(const std::byte* weights, int64_t count, float* values);

void silu_mul(const float* gate, const float* up, int rows, int width, float* y, int64_t y_stride);
void add_scaled_rows(const float* x, const float* scale, const int32_t* y_rows, int rows, int width, float* y,
                     int64_t y_stride);
void add_rows(const float* x, int rows, int width, float* y, int64_t y_stride);
void rms_norm(const float* x, const float* weight, int width, float eps, float* y);
void gated_norm(const float* x, const float* z, const float* weight, int width, float eps, float* y);
void rope(float* head, const float* cos, const float* sin, int rope_dims);

}  // namespace octavo::OCTAVO_ISA
