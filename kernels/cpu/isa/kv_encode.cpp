// New rows of the KV cache: the raw formats, the table of all encoders, and the small steps around them.
#include "kernels/cpu/isa/kv_encode.h"

#include "kernels/cpu/isa/mixers.h"
#include "kernels/cpu/isa/tiles.h"

namespace octavo::OCTAVO_ISA {
namespace {

uint32_t bits_of(float x) {
    uint32_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}

bool encode_f32(const float* x, int64_t count, std::byte* payload) {
    __builtin_memcpy(payload, x, static_cast<size_t>(count) * sizeof(float));
    uint32_t largest = 0;
    for (int64_t i = 0; i < count; ++i) {
        const uint32_t magnitude = bits_of(x[i]) & 0x7fffffffu;
        largest = magnitude > largest ? magnitude : largest;
    }
    return largest < 0x7f800000u;
}

// Largest magnitude in float16 bits; infinity and NaN are 0x7c00 and above.
bool all_finite_f16(const uint16_t* x, int64_t count) {
    uint16_t largest = 0;
    for (int64_t i = 0; i < count; ++i) {
        const uint16_t magnitude = x[i] & 0x7fffu;
        largest = magnitude > largest ? magnitude : largest;
    }
    return largest < 0x7c00u;
}

void to_f16(const float* x, int64_t count, uint16_t* out) {
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) store_f16(out + i, load(x + i));
    if (i < count) {
        uint16_t part[kLanes];
        store_f16(part, load_first(x + i, static_cast<int>(count - i)));
        for (int lane = 0; i < count; ++lane, ++i) out[i] = part[lane];
    }
}

bool encode_f16(const float* x, int64_t count, std::byte* payload) {
    auto* out = reinterpret_cast<uint16_t*>(payload);
    to_f16(x, count, out);
    return all_finite_f16(out, count);
}

// Written so that the compiler turns it into vector code: nearest even, NaN stays NaN.
bool encode_bf16(const float* x, int64_t count, std::byte* payload) {
    auto* out = reinterpret_cast<uint16_t*>(payload);
    uint32_t largest = 0;
    for (int64_t i = 0; i < count; ++i) {
        const uint32_t bits = bits_of(x[i]);
        const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
        const uint32_t quiet_nan = (bits >> 16) | 0x40u;
        const uint32_t stored = (bits & 0x7fffffffu) > 0x7f800000u ? quiet_nan : rounded;
        const uint32_t magnitude = stored & 0x7fffu;
        largest = magnitude > largest ? magnitude : largest;
        out[i] = static_cast<uint16_t>(stored);
    }
    return largest < 0x7f80u;
}

template <bool (*encode)(const float* x, int64_t count, std::byte* payload)>
bool encode_raw(const KvEncodeRows& op) {
    return encode(op.x, op.rows * op.head_dim, op.payload);
}

// In the order of KvFormat; per-channel formats go through encode_kv_group.
using Encode = bool (*)(const KvEncodeRows& op);
constexpr Encode kEncoders[] = {
    encode_raw<encode_f32>,
    encode_raw<encode_f16>,
    encode_raw<encode_bf16>,
    encode_q8_0,
    encode_fp8_e4m3,
    encode_q6_0,
    encode_q4_0,
    encode_q8r,
    encode_q6r,
    encode_q4r,
    nullptr,
    encode_q2t,
    encode_q4_nl,
};

}  // namespace

bool encode_kv_rows(const KvEncodeRows& op) { return kEncoders[op.format](op); }

void round_row(const float* x, int count, uint16_t* halves) { to_f16(x, count, halves); }

void divide_row(float* x, const float* divisor, int count) {
    for (int i = 0; i < count; ++i) x[i] /= divisor[i];
}

}  // namespace octavo::OCTAVO_ISA
