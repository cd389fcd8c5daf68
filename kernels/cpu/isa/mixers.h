// Functions of this folder for attention, kv_store, causal_conv and gated_delta, as isa_table.cpp lists them. Arguments
// are described in mixer_kernels.h, the operations in backend.h.
#pragma once

#include "kernels/cpu/mixer_kernels.h"

namespace octavo::OCTAVO_ISA {

// attention.cpp
void attend_piece(const AttentionPiece& piece);
void merge_attention(int rows, int width, const AttentionPartial& next, const AttentionPartial& total);
void finish_attention(const float* total, float sum, const float* gate, int head_dim, float* out);
// kv_store.cpp
bool encode_raw(int format, const float* x, int64_t count, std::byte* payload);
// causal_conv.cpp
void convolve_channels(const ConvChannels& conv);
// gated_delta.cpp
void normalise_row(const float* x, int count, float scale, float* y, int width);
void delta_recurrent(const DeltaHead& head);
void delta_chunked(const DeltaHead& head, float* scratch);

}  // namespace octavo::OCTAVO_ISA
