// Formats with one float16 scale per 32 consecutive values of a row.
#include <array>

#include "kernels/base/float8.h"
#include "kernels/kv_codec.h"
#include "kernels/reference/kv_codec_scale.h"

namespace octavo {

namespace kv_codec {
namespace {

using Codes = std::array<int, kKvBlock>;

// Scale and codes of one block for `bits`-bit two's complement codes; false when the block cannot be encoded.
bool encode_block(const float* x, int bits, KvEncoder encoder, Codes& codes, f16_bits& scale) {
    const std::optional<float> largest = largest_magnitude(x, kKvBlock);
    if (!largest) return false;
    const int low = -(1 << (bits - 1));
    const int high = -low - 1;
    // [A]: q4_0 divides by 8 and lets the positive extreme clamp to 7; q6_0 and q8_0 divide by the largest code.
    const float reference_divisor = static_cast<float>(bits == 4 ? -low : high);
    const bool refine = encoder == KvEncoder::refined && bits < 8;
    float d = refine ? signed_extreme(x, kKvBlock) / static_cast<float>(low) : *largest / reference_divisor;
    if (!fits_f16(d)) return false;
    scale = f32_to_f16(d);
    d = f16_to_f32(scale);
    for (int i = 0; i < kKvBlock; ++i) codes[static_cast<size_t>(i)] = quantise(x[i], d, bits == 8 ? -high : low, high);
    if (refine) {
        d = least_squares_scale(x, kKvBlock, [&](int i) { return static_cast<float>(codes[static_cast<size_t>(i)]); });
        if (!fits_f16(d)) return false;
        scale = f32_to_f16(d);
    }
    if ((scale & 0x7fffu) == 0) codes.fill(0);
    return true;
}

uint8_t code_bits(int code, int shift, int mask) { return static_cast<uint8_t>((code >> shift) & mask); }

bool encode_q8_0(const float* x, int count, std::byte* payload, f16_bits* scales, KvEncoder encoder) {
    Codes codes;
    for (int block = 0; block * kKvBlock < count; ++block) {
        if (!encode_block(x + block * kKvBlock, 8, encoder, codes, scales[block])) return false;
        for (int code : codes) *payload++ = static_cast<std::byte>(code_bits(code, 0, 0xff));
    }
    return true;
}

void decode_q8_0(const std::byte* payload, const f16_bits* scales, int count, float* x) {
    for (int i = 0; i < count; ++i) {
        x[i] = f16_to_f32(scales[i / kKvBlock]) * static_cast<float>(static_cast<int8_t>(payload[i]));
    }
}

bool encode_fp8_e4m3(const float* x, int count, std::byte* payload, f16_bits* scales, KvEncoder) {
    for (int block = 0; block * kKvBlock < count; ++block) {
        const float* values = x + block * kKvBlock;
        const std::optional<float> largest = largest_magnitude(values, kKvBlock);
        if (!largest || !fits_f16(*largest / 448.0f)) return false;
        scales[block] = f32_to_f16(*largest / 448.0f);
        const float d = f16_to_f32(scales[block]);
        for (int i = 0; i < kKvBlock; ++i) {
            payload[block * kKvBlock + i] = static_cast<std::byte>(d == 0 ? 0 : f32_to_e4m3(values[i] / d));
        }
    }
    return true;
}

void decode_fp8_e4m3(const std::byte* payload, const f16_bits* scales, int count, float* x) {
    for (int i = 0; i < count; ++i) {
        x[i] = f16_to_f32(scales[i / kKvBlock]) * e4m3_to_f32(std::to_integer<uint8_t>(payload[i]));
    }
}

// A row is all low planes (count / 2 bytes), then all high planes (count / 4 bytes).
bool encode_q6_0(const float* x, int count, std::byte* payload, f16_bits* scales, KvEncoder encoder) {
    std::byte* low = payload;
    std::byte* high = payload + count / 2;
    Codes codes;
    for (int block = 0; block * kKvBlock < count; ++block) {
        if (!encode_block(x + block * kKvBlock, 6, encoder, codes, scales[block])) return false;
        for (size_t i = 0; i < kKvBlock; i += 2) {
            *low++ = static_cast<std::byte>(code_bits(codes[i], 0, 15) | code_bits(codes[i + 1], 0, 15) << 4);
        }
        for (size_t i = 0; i < kKvBlock; i += 4) {
            *high++ = static_cast<std::byte>(code_bits(codes[i], 4, 3) | code_bits(codes[i + 1], 4, 3) << 2 |
                                             code_bits(codes[i + 2], 4, 3) << 4 | code_bits(codes[i + 3], 4, 3) << 6);
        }
    }
    return true;
}

void decode_q6_0(const std::byte* payload, const f16_bits* scales, int count, float* x) {
    const std::byte* high = payload + count / 2;
    for (int i = 0; i < count; ++i) {
        const int low_bits = std::to_integer<int>(payload[i / 2]) >> (i % 2 * 4) & 15;
        const int high_bits = std::to_integer<int>(high[i / 4]) >> (i % 4 * 2) & 3;
        const int code = ((low_bits | high_bits << 4) ^ 0x20) - 0x20;
        x[i] = f16_to_f32(scales[i / kKvBlock]) * static_cast<float>(code);
    }
}

bool encode_q4_0(const float* x, int count, std::byte* payload, f16_bits* scales, KvEncoder encoder) {
    Codes codes;
    for (int block = 0; block * kKvBlock < count; ++block) {
        if (!encode_block(x + block * kKvBlock, 4, encoder, codes, scales[block])) return false;
        for (size_t i = 0; i < kKvBlock; i += 2) {
            *payload++ = static_cast<std::byte>(code_bits(codes[i], 0, 15) | code_bits(codes[i + 1], 0, 15) << 4);
        }
    }
    return true;
}

void decode_q4_0(const std::byte* payload, const f16_bits* scales, int count, float* x) {
    for (int i = 0; i < count; ++i) {
        const int nibble = std::to_integer<int>(payload[i / 2]) >> (i % 2 * 4) & 15;
        x[i] = f16_to_f32(scales[i / kKvBlock]) * static_cast<float>((nibble ^ 8) - 8);
    }
}

}  // namespace

const KvCodec q8_0 = {encode_q8_0, decode_q8_0};
const KvCodec fp8_e4m3 = {encode_fp8_e4m3, decode_fp8_e4m3};
const KvCodec q6_0 = {encode_q6_0, decode_q6_0};
const KvCodec q4_0 = {encode_q4_0, decode_q4_0};

}  // namespace kv_codec
}  // namespace octavo
