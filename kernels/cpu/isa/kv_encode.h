// Encoders of the KV formats, one per layout: byte for byte as the codecs that define them (kernels/kv_codec.h). False
// when a value cannot be encoded; what was written then is unspecified.
#pragma once

#include "kernels/cpu/kv_kernels.h"

namespace octavo::OCTAVO_ISA {

// kv_encode_block.cpp
bool encode_q8_0(const KvEncodeRows& op);
bool encode_fp8_e4m3(const KvEncodeRows& op);
bool encode_q6_0(const KvEncodeRows& op);
bool encode_q4_0(const KvEncodeRows& op);
// kv_encode_row.cpp
bool encode_q8r(const KvEncodeRows& op);
bool encode_q6r(const KvEncodeRows& op);
bool encode_q4r(const KvEncodeRows& op);
// kv_encode_codebook.cpp
bool encode_q2t(const KvEncodeRows& op);
bool encode_q4_nl(const KvEncodeRows& op);
bool encode_kv_group(const KvEncodeGroup& op);  // q2c

}  // namespace octavo::OCTAVO_ISA
