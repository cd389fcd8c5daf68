// How rows of keys and values become bytes and come back: the bit-exact definition of every KV format, in plain scalar
// code. Every back end writes these same bytes and decodes these same values.
//
// Arithmetic: float32, no contraction, sums in index order, the scale rounded to float16 (nearest even) before codes
// are taken, division (not multiplication by a reciprocal), rounding half away from zero. A scale of 0 gives zero
// codes. Non-finite input, or input whose scale leaves float16, cannot be encoded: `encode` returns false and the
// contents written are unspecified.
//
// Source: the design's kv_formats, section 2.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/base/half.h"

namespace octavo {

// Which of the encoders that share a layout is used. Decoding is the same for both.
enum class KvEncoder : uint8_t {
    reference,  // the rule of the format's source
    refined,    // signed extreme, then one least-squares refit of the scale with the codes kept
};

// A codec works on one *run* of values: the row of one head (count = head_dim), or, for per-channel formats, one
// channel over the 32 cells of a group (count = 32). It knows nothing of cells and heads.
struct KvCodec {
    bool (*encode)(const float* x, int count, std::byte* payload, f16_bits* scales, KvEncoder encoder);
    void (*decode)(const std::byte* payload, const f16_bits* scales, int count, float* x);
};

inline constexpr int kKvBlock = 32;       // values that share a scale in the block formats
inline constexpr int kKvGroupCells = 32;  // cells of a per-channel group

namespace kv_codec {

extern const KvCodec f32, f16, bf16;              // kv_codec_raw.cpp
extern const KvCodec q8_0, fp8_e4m3, q6_0, q4_0;  // kv_codec_block.cpp
extern const KvCodec q8r, q6r, q4r;               // kv_codec_row.cpp
extern const KvCodec q2, q4_nl;                   // kv_codec_codebook.cpp; q2 serves q2c and q2t

}  // namespace kv_codec

// Lloyd-Max quantisers of a unit Gaussian, ascending.
inline constexpr float kQ2Levels[4] = {-1.510f, -0.4528f, 0.4528f, 1.510f};
inline constexpr float kQ2Boundary = 0.9816f;
inline constexpr float kQ4NlLevels[16] = {-2.7326f, -2.0690f, -1.6180f, -1.2562f, -0.9424f, -0.6568f,
                                          -0.3881f, -0.1284f, 0.1284f,  0.3881f,  0.6568f,  0.9424f,
                                          1.2562f,  1.6180f,  2.0690f,  2.7326f};

}  // namespace octavo
