// Formats with one float16 scale for the whole row, symmetric codes.
#include "kernels/kv_codec.h"
#include "kernels/reference/kv_codec_scale.h"

namespace octavo::kv_codec {
namespace {

// The scale of a row whose largest code is `top`.
bool row_scale(const float* x, int count, int top, f16_bits& scale) {
    const std::optional<float> largest = largest_magnitude(x, count);
    if (!largest) return false;
    const float d = std::fmax(*largest, 1e-6f) / static_cast<float>(top);
    scale = f32_to_f16(d);
    return fits_f16(d);
}

bool encode_q8r(const float* x, int count, std::byte* payload, f16_bits* scales, KvEncoder) {
    if (!row_scale(x, count, 127, *scales)) return false;
    const float d = f16_to_f32(*scales);
    for (int i = 0; i < count; ++i) payload[i] = static_cast<std::byte>(quantise(x[i], d, -127, 127) & 0xff);
    return true;
}

void decode_q8r(const std::byte* payload, const f16_bits* scales, int count, float* x) {
    const float d = f16_to_f32(*scales);
    for (int i = 0; i < count; ++i) x[i] = d * static_cast<float>(static_cast<int8_t>(payload[i]));
}

// Biased codes u = q + 32, four in three bytes, little-endian.
bool encode_q6r(const float* x, int count, std::byte* payload, f16_bits* scales, KvEncoder) {
    if (!row_scale(x, count, 31, *scales)) return false;
    const float d = f16_to_f32(*scales);
    for (int i = 0; i < count; i += 4) {
        unsigned packed = 0;
        for (int j = 0; j < 4; ++j) packed |= static_cast<unsigned>(quantise(x[i + j], d, -31, 31) + 32) << (6 * j);
        for (int j = 0; j < 3; ++j) *payload++ = static_cast<std::byte>(packed >> (8 * j) & 0xffu);
    }
    return true;
}

void decode_q6r(const std::byte* payload, const f16_bits* scales, int count, float* x) {
    const float d = f16_to_f32(*scales);
    for (int i = 0; i < count; i += 4, payload += 3) {
        const unsigned packed = std::to_integer<unsigned>(payload[0]) | std::to_integer<unsigned>(payload[1]) << 8 |
                                std::to_integer<unsigned>(payload[2]) << 16;
        for (int j = 0; j < 4; ++j) x[i + j] = d * static_cast<float>(static_cast<int>(packed >> (6 * j) & 63u) - 32);
    }
}

bool encode_q4r(const float* x, int count, std::byte* payload, f16_bits* scales, KvEncoder) {
    if (!row_scale(x, count, 7, *scales)) return false;
    const float d = f16_to_f32(*scales);
    for (int i = 0; i < count; i += 2) {
        const int low = quantise(x[i], d, -7, 7) & 15;
        const int high = quantise(x[i + 1], d, -7, 7) & 15;
        *payload++ = static_cast<std::byte>(low | high << 4);
    }
    return true;
}

void decode_q4r(const std::byte* payload, const f16_bits* scales, int count, float* x) {
    const float d = f16_to_f32(*scales);
    for (int i = 0; i < count; ++i) {
        const int nibble = std::to_integer<int>(payload[i / 2]) >> (i % 2 * 4) & 15;
        x[i] = d * static_cast<float>((nibble ^ 8) - 8);
    }
}

}  // namespace

const KvCodec q8r = {encode_q8r, decode_q8r};
const KvCodec q6r = {encode_q6r, decode_q6r};
const KvCodec q4r = {encode_q4r, decode_q4r};

}  // namespace octavo::kv_codec
