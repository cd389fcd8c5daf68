// Formats whose codes index the levels of a Lloyd-Max quantiser of a unit Gaussian, scaled per 32 values.
#include <array>

#include "kernels/kv_codec.h"
#include "kernels/reference/kv_codec_scale.h"

namespace octavo::kv_codec {
namespace {

using Codes = std::array<uint8_t, kKvBlock>;

uint8_t q2_code(float t) { return static_cast<uint8_t>((t >= -kQ2Boundary) + (t >= 0.0f) + (t >= kQ2Boundary)); }

// Boundaries lie halfway between neighbouring levels.
uint8_t q4_nl_code(float t) {
    int code = 0;
    while (code < 15 && t >= (kQ4NlLevels[code] + kQ4NlLevels[code + 1]) * 0.5f) ++code;
    return static_cast<uint8_t>(code);
}

float squared_error(const float* x, float d, const Codes& codes, const float* levels) {
    float sum = 0;
    for (size_t i = 0; i < kKvBlock; ++i) {
        const float error = x[i] - d * levels[codes[i]];
        sum += error * error;
    }
    return sum;
}

// Codes under scale d, then the scale refitted to them; d comes back as float16 holds it.
template <uint8_t (*code_of)(float)>
bool assign_and_refit(const float* x, float& d, Codes& codes, const float* levels) {
    for (size_t i = 0; i < kKvBlock; ++i) codes[i] = d == 0 ? 0 : code_of(x[i] / d);
    const float refit = least_squares_scale(x, kKvBlock, [&](int i) { return levels[codes[static_cast<size_t>(i)]]; });
    if (!fits_f16(refit)) return false;
    d = d == 0 ? 0 : f16_to_f32(f32_to_f16(refit));
    if (d == 0) codes.fill(0);
    return true;
}

// The block's root mean square as float16 holds it.
bool block_rms(const float* x, float& rms) {
    float sum = 0;
    for (int i = 0; i < kKvBlock; ++i) sum += x[i] * x[i];
    rms = std::sqrt(sum / static_cast<float>(kKvBlock));
    if (!fits_f16(rms)) return false;
    rms = f16_to_f32(f32_to_f16(rms));
    return true;
}

// Both encoders: the source's rule already ends with the refit.
bool encode_q2(const float* x, int count, std::byte* payload, f16_bits* scales, KvEncoder) {
    Codes codes;
    for (int block = 0; block * kKvBlock < count; ++block) {
        const float* values = x + block * kKvBlock;
        float d = 0;
        if (!block_rms(values, d) || !assign_and_refit<q2_code>(values, d, codes, kQ2Levels)) return false;
        scales[block] = f32_to_f16(d);
        for (size_t i = 0; i < kKvBlock; i += 4) {
            *payload++ = static_cast<std::byte>(codes[i] | codes[i + 1] << 2 | codes[i + 2] << 4 | codes[i + 3] << 6);
        }
    }
    return true;
}

void decode_q2(const std::byte* payload, const f16_bits* scales, int count, float* x) {
    for (int i = 0; i < count; ++i) {
        const int code = std::to_integer<int>(payload[i / 4]) >> (i % 4 * 2) & 3;
        x[i] = f16_to_f32(scales[i / kKvBlock]) * kQ2Levels[code];
    }
}

// Both encoders search: starting scales of 0.7 to 1.3 times the block's RMS, each refitted; the smallest squared error
// wins, the earlier start on a tie.
bool encode_q4_nl(const float* x, int count, std::byte* payload, f16_bits* scales, KvEncoder) {
    constexpr float kStarts[] = {0.7f, 0.75f, 0.8f, 0.85f, 0.9f, 0.95f, 1.0f, 1.05f, 1.1f, 1.15f, 1.2f, 1.25f, 1.3f};
    for (int block = 0; block * kKvBlock < count; ++block) {
        const float* values = x + block * kKvBlock;
        float rms = 0;
        if (!block_rms(values, rms)) return false;
        Codes best{};
        float best_d = 0;
        float best_error = 0;
        for (const float start : kStarts) {
            Codes codes;
            float d = rms * start;
            if (!fits_f16(d)) return false;
            d = f16_to_f32(f32_to_f16(d));
            if (!assign_and_refit<q4_nl_code>(values, d, codes, kQ4NlLevels)) return false;
            const float error = squared_error(values, d, codes, kQ4NlLevels);
            if (start == kStarts[0] || error < best_error) best = codes, best_d = d, best_error = error;
        }
        scales[block] = f32_to_f16(best_d);
        for (size_t i = 0; i < kKvBlock; i += 2) *payload++ = static_cast<std::byte>(best[i] | best[i + 1] << 4);
    }
    return true;
}

void decode_q4_nl(const std::byte* payload, const f16_bits* scales, int count, float* x) {
    for (int i = 0; i < count; ++i) {
        const int code = std::to_integer<int>(payload[i / 2]) >> (i % 2 * 4) & 15;
        x[i] = f16_to_f32(scales[i / kKvBlock]) * kQ4NlLevels[code];
    }
}

}  // namespace

const KvCodec q2 = {encode_q2, decode_q2};
const KvCodec q4_nl = {encode_q4_nl, decode_q4_nl};

}  // namespace octavo::kv_codec
