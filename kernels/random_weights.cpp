#include "kernels/random_weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/base/float8.h"
#include "kernels/base/half.h"
#include "kernels/base/random_stream.h"

namespace octavo {
namespace {

constexpr int kNone = -1;

// Where a block type keeps its scales, in f16.
struct ScaleFields {
    WeightType type;
    int scale_at;          // byte in the block
    int minimum_at;        // of the minimum's scale; kNone: the type has none
    float minimum_factor;  // scale of the minimum / scale that centres random codes at about zero
};
constexpr ScaleFields kScaleFields[] = {
    {WeightType::q8_0, 0, kNone, 0},   {WeightType::q4_0, 0, kNone, 0},    {WeightType::q4_1, 0, 2, -7.5f},
    {WeightType::q5_0, 0, kNone, 0},   {WeightType::q5_1, 0, 2, -15.5f},   {WeightType::q2_k, 80, 82, 1.5f},
    {WeightType::q3_k, 108, kNone, 0}, {WeightType::q4_k, 0, 2, 7.5f},     {WeightType::q5_k, 0, 2, 15.5f},
    {WeightType::q6_k, 208, kNone, 0}, {WeightType::iq4_nl, 0, kNone, 0},  {WeightType::iq4_xs, 0, kNone, 0},
    {WeightType::iq3_s, 0, kNone, 0},  {WeightType::iq3_xxs, 0, kNone, 0}, {WeightType::iq2_xxs, 0, kNone, 0},
    {WeightType::iq2_xs, 0, kNone, 0}, {WeightType::iq2_s, 0, kNone, 0},   {WeightType::iq1_s, 0, kNone, 0},
    {WeightType::tq1_0, 52, kNone, 0}, {WeightType::tq2_0, 64, kNone, 0},  {WeightType::q1_0, 0, kNone, 0},
    {WeightType::q2_0, 0, kNone, 0},
};

void put_f16(std::byte* at, float value) {
    constexpr float kLargestF16 = 65504;
    const f16_bits bits = f32_to_f16(std::clamp(value, -kLargestF16, kLargestF16));
    std::memcpy(at, &bits, sizeof bits);
}

// The f16 scale of IQ1_M: four bits on top of each of the last four 16-bit words.
void put_iq1_m_scale(std::byte* block, float scale) {
    const uint32_t bits = f32_to_f16(scale);
    for (int word = 0; word < 4; ++word) {
        std::byte& high = block[48 + word * 2 + 1];
        high = (high & std::byte{15}) | static_cast<std::byte>((bits >> (word * 4) & 15) << 4);
    }
}

// A power of two; a block without one is all zero.
void put_mxfp4_scale(std::byte* block, float scale) {
    if (scale == 0) std::memset(block, 0, 17);
    constexpr int kBias = 127;
    const int exponent = scale == 0 ? 0 : std::clamp(std::ilogb(scale) + kBias, 0, 254);
    block[0] = static_cast<std::byte>(exponent);
}

void put_nvfp4_scale(std::byte* block, float scale) {
    std::fill_n(block, 4, static_cast<std::byte>(f32_to_e4m3(scale)));
}

void set_scale(WeightType type, std::byte* block, float scale) {
    if (type == WeightType::iq1_m) return put_iq1_m_scale(block, scale);
    if (type == WeightType::mxfp4) return put_mxfp4_scale(block, scale);
    if (type == WeightType::nvfp4) return put_nvfp4_scale(block, scale);
    const auto* fields = std::find_if(std::begin(kScaleFields), std::end(kScaleFields),
                                      [&](const ScaleFields& entry) { return entry.type == type; });
    if (fields == std::end(kScaleFields)) return;
    put_f16(block + fields->scale_at, scale);
    if (fields->minimum_at != kNone) put_f16(block + fields->minimum_at, scale * fields->minimum_factor);
}

// The largest value that the codes of a block give under a scale of 1.
float largest_at_unit_scale(const WeightTypeSpec& spec, std::byte* block) {
    set_scale(spec.type, block, 1);
    std::vector<float> values(static_cast<size_t>(spec.block_values));
    spec.decode(block, 1, values.data());
    float largest = 0;
    for (const float value : values) largest = std::max(largest, std::fabs(value));
    return std::max(largest, 1.0f);
}

void put_number(WeightType type, std::byte* at, float value) {
    if (type == WeightType::f32) {
        std::memcpy(at, &value, sizeof value);
    } else if (type == WeightType::f8_e4m3) {
        *at = static_cast<std::byte>(f32_to_e4m3(value));
    } else {
        const uint16_t half = type == WeightType::f16 ? f32_to_f16(value) : f32_to_bf16(value);
        std::memcpy(at, &half, sizeof half);
    }
}

}  // namespace

void fill_random_weights(WeightType type, int64_t blocks, float largest, uint64_t seed, std::byte* data,
                         std::byte* block_scales) {
    const WeightTypeSpec& spec = weight_type_spec(type);
    RandomStream random(seed);
    const int64_t bytes = blocks * spec.block_bytes;
    if (type == WeightType::f8_e4m3_blocks) {  // not every byte is a number
        const float scale = largest / 448;
        for (int64_t block = 0; block < blocks; ++block)
            std::memcpy(block_scales + block * spec.scale_bytes, &scale, sizeof scale);
        fill_random_weights(WeightType::f8_e4m3, bytes, 448, seed, data);
        return;
    }
    if (spec.block_values == 1) {
        for (int64_t at = 0; at < bytes; at += spec.block_bytes) {
            const float unit = static_cast<float>(random.next() >> 40) * 0x1p-23f - 1;
            put_number(type, data + at, largest * unit);
        }
        return;
    }
    for (int64_t at = 0; at < bytes; at += 8) {
        const uint64_t bits = random.next();
        std::memcpy(data + at, &bits, static_cast<size_t>(std::min<int64_t>(8, bytes - at)));
    }
    if (spec.scale_bytes > 0) {  // E2M1 codes, E4M3 scales
        std::fill_n(block_scales, blocks, static_cast<std::byte>(f32_to_e4m3(largest / 6)));
        return;
    }
    const float scale = blocks == 0 ? 0 : largest / largest_at_unit_scale(spec, data);
    for (int64_t at = 0; at < bytes; at += spec.block_bytes) set_scale(type, data + at, scale);
}

}  // namespace octavo
