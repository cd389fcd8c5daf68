// Scalar conversions between float32 and the 16-bit formats, bit for bit as IEEE 754 says (round to nearest even,
// subnormals kept, NaN stays NaN). Storage is a plain uint16_t: arrays of it are what files and caches hold.
#pragma once

#include <bit>
#include <cstdint>

namespace octavo {

using f16_bits = uint16_t;   // IEEE binary16
using bf16_bits = uint16_t;  // upper half of a float32

constexpr float bf16_to_f32(bf16_bits bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

constexpr bf16_bits f32_to_bf16(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<bf16_bits>((bits >> 16) | 0x40u);
    return static_cast<bf16_bits>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

constexpr float f16_to_f32(f16_bits half) {
    const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
    const uint32_t exponent = (half >> 10) & 0x1fu;
    const uint32_t mantissa = half & 0x3ffu;
    if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
    if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (mantissa << 13));
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;  // subnormal or zero: exact
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
}

constexpr f16_bits f32_to_f16(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
    const uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return static_cast<f16_bits>(sign | 0x7e00u | ((magnitude >> 13) & 0x1ffu));
    if (magnitude >= 0x477ff000u) return static_cast<f16_bits>(sign | 0x7c00u);  // rounds to infinity
    if (magnitude < 0x38800000u) {  // subnormal: adding 0.5 leaves the rounded mantissa in the low bits
        const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
        return static_cast<f16_bits>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
    }
    const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
    return static_cast<f16_bits>(sign | ((rounded - 0x38000000u) >> 13));
}

}  // namespace octavo
