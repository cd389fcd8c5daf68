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
void unpack_f32(const std::byte* weights, int64_t count, float* values);
void unpack_f16(const std::byte* weights, int64_t count, float* values);
void unpack_bf16(const std::byte* weights, int64_t count, float* values);
void unpack_q8_0(const std::byte* weights, int64_t count, float* values);

void silu_mul(float* gate, const float* up, int64_t count);
void add_scaled(float* sum, const float* x, float factor, int64_t count);
void rms_norm(const float* x, const float* weight, int width, float eps, float* y);
void gated_norm(const float* x, const float* z, const float* weight, int width, float eps, float* y);
void rope(float* head, const float* cos, const float* sin, int rope_dims);

}  // namespace octavo::OCTAVO_ISA
