// Scalar conversions of the 8-bit and 4-bit floats that weights and their scales are stored in.
// Source: OCP 8-bit floating point (E4M3) and microscaling (E8M0, E2M1) formats.
#pragma once

#include <bit>
#include <cstdint>

namespace octavo {

// Sign, 4 bits of exponent, 3 of mantissa; no infinities; all ones is NaN. Exact.
constexpr float e4m3_to_f32(uint8_t bits) {
    const uint32_t sign = static_cast<uint32_t>(bits & 0x80u) << 24;
    const uint32_t exponent = bits >> 3 & 15u;
    const uint32_t mantissa = bits & 7u;
    if ((bits & 0x7fu) == 0x7fu) return std::bit_cast<float>(sign | 0x7fc00000u);
    if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 120u) << 23 | mantissa << 20);
    const float magnitude = static_cast<float>(mantissa) * 0x1p-9f;  // subnormal or zero
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
}

// The nearest E4M3 number, ties to even; beyond the largest (448) that.
constexpr uint8_t f32_to_e4m3(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    const auto sign = static_cast<uint8_t>(bits >> 24 & 0x80u);
    const uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return static_cast<uint8_t>(sign | 0x7fu);
    if (magnitude >= 0x43e00000u) return static_cast<uint8_t>(sign | 0x7eu);
    if (magnitude < 0x3c800000u) {  // subnormal: adding 2^14 leaves the rounded mantissa in the low bits
        const float shifted = std::bit_cast<float>(magnitude) + 0x1p14f;
        return static_cast<uint8_t>(sign | (std::bit_cast<uint32_t>(shifted) & 0xffu));
    }
    const uint32_t rounded = magnitude + 0x7ffffu + (magnitude >> 20 & 1u);
    return static_cast<uint8_t>(sign | ((rounded >> 20) - 120u * 8u));
}

// Half of the power of two that E8M0 stores: 2^(bits - 128).
constexpr float e8m0_half_to_f32(uint8_t bits) {
    const uint32_t exponent = bits;
    return std::bit_cast<float>(exponent < 2 ? 0x00200000u << exponent : (exponent - 1) << 23);
}

// Sign, 2 bits of exponent, 1 of mantissa: 0, 1/2, 1, 3/2, 2, 3, 4, 6 and their negatives (minus 0 is read as 0, as
// all readers of these weights do).
constexpr float e2m1_to_f32(uint32_t code) {
    constexpr float kMagnitudes[8] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    const float magnitude = kMagnitudes[code & 7];
    return (code & 8) != 0 ? 0 - magnitude : magnitude;
}

}  // namespace octavo
