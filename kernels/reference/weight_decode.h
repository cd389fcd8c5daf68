// Decoders of weight types: exact float32 values of whole blocks. Layouts are in the .cpp files, one per family:
// weight_decode.cpp (plain numbers, blocks of 32), weight_decode_k.cpp (K-quants), weight_decode_codebook.cpp (IQ
// types), weight_decode_micro.cpp (small floats, ternary and binary codes).
#pragma once

#include <cstddef>
#include <cstdint>

namespace octavo {

// data: `blocks` consecutive blocks, any alignment; values[blocks * block_values].
using DecodeBlocks = void(const std::byte* data, int64_t blocks, float* values);

DecodeBlocks decode_f32, decode_f16, decode_bf16, decode_f8_e4m3;
DecodeBlocks decode_q4_0, decode_q4_1, decode_q5_0, decode_q5_1, decode_q8_0;
DecodeBlocks decode_q2_k, decode_q3_k, decode_q4_k, decode_q5_k, decode_q6_k;
DecodeBlocks decode_iq4_nl, decode_iq4_xs, decode_iq3_s, decode_iq3_xxs;
DecodeBlocks decode_iq2_xxs, decode_iq2_xs, decode_iq2_s, decode_iq1_s, decode_iq1_m;
DecodeBlocks decode_mxfp4, decode_nvfp4, decode_tq1_0, decode_tq2_0, decode_q1_0, decode_q2_0;

// codes and scales: of `blocks` consecutive blocks each.
void decode_nvfp4_apart(const std::byte* codes, const std::byte* scales, int64_t blocks, float* values);
void decode_f8_e4m3_blocks(const std::byte* codes, const std::byte* scales, int64_t blocks, float* values);

}  // namespace octavo
