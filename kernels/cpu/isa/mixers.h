// Functions of this folder for attention, kv_store, causal_conv and gated_delta, as isa_table.cpp lists them. Arguments
// are described in mixer_kernels.h, the operations in backend.h.
#pragma once

#include "kernels/cpu/mixer_kernels.h"

namespace octavo::OCTAVO_ISA {

// attention.cpp
void attend_piece(const AttentionPiece& piece);
void merge_attention(int rows, int width, const AttentionPartial& next, const AttentionPartial& total);
void finish_attention(const AttentionFinish& op);
// hadamard.cpp
void rotate_row(float* x, int length);
// kv_tile.cpp
void fill_kv_tile(const SideCells& side, int64_t first_cell, int from, int to, int64_t position, float* tile);
// kv_encode.cpp
bool encode_kv_rows(const KvEncodeRows& op);
bool encode_kv_group(const KvEncodeGroup& op);
void divide_row(float* x, const float* divisor, int count);
void round_row(const float* x, int count, uint16_t* halves);
// causal_conv.cpp
void convolve_channels(const ConvChannels& conv);
// gated_delta.cpp
void normalise_row(const float* x, int count, float scale, float* y, int width);
void delta_recurrent(const DeltaHead& head);
void delta_chunked(const DeltaHead& head, float* scratch);

}  // namespace octavo::OCTAVO_ISA
