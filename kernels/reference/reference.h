// The oracle: what each operation of kernels/backend.h means, in plain scalar code. Inputs and outputs are float32;
// everything in between is double, and rounded once at the end. Non-goals: speed, threads, saving memory.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/backend.h"

namespace octavo::reference {

// embed_gather.cpp
void embed(const Matrix& table, std::span<const int32_t> ids, float* x);
void gather_columns(const float* x, int tokens, int64_t x_stride, std::span<const int32_t> source, float* y);
// matmul.cpp
void matmul(const float* x, int tokens, const MatmulTarget& target);
// norms.cpp
void rms_norm(const float* x, int rows, int width, const float* weight, float eps, float* y);
void gated_norm(const GatedNorm& op);
// qk_norm_rope.cpp
void qk_norm_rope(const QkNormRope& op);
// kv_rows.cpp
void kv_basis(const KvRows& rows, float* q, int heads);
bool kv_store(const KvRows& rows);
void kv_overlay(const KvRows& rows);
// attention.cpp
void kv_load(const KvRows& rows, int64_t position);
void attention(const Attention& op);
// causal_conv.cpp
void causal_conv(const CausalConv& op);
// gated_delta_recurrent.cpp, gated_delta_chunked.cpp
void gated_delta_recurrent(const GatedDelta& op);
void gated_delta_chunked(const GatedDelta& op);
// moe.cpp
void moe(const Moe& op);

}  // namespace octavo::reference
