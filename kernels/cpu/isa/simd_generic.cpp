// Half-precision lanes for machines without conversion instructions; the bit patterns are those of kernels/base/half.h,
// which may not be used here (see simd.h).
#include "kernels/cpu/isa/simd.h"

#if !defined(__AVX2__)

namespace octavo::OCTAVO_ISA {

float f16_lane(uint16_t half) {
    const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
    const uint32_t exponent = (half >> 10) & 0x1fu;
    const uint32_t mantissa = half & 0x3ffu;
    uint32_t bits = sign | ((exponent + 112u) << 23) | (mantissa << 13);
    if (exponent == 0x1f) bits = sign | 0x7f800000u | (mantissa << 13);
    if (exponent == 0) {  // subnormal or zero: the product is exact
        const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
        __builtin_memcpy(&bits, &magnitude, sizeof bits);
        bits |= sign;
    }
    float value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

uint16_t f16_from_lane(float value) {
    uint32_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    const uint32_t sign = (bits >> 16) & 0x8000u;
    const uint32_t magnitude = bits & 0x7fffffffu;
    uint32_t half = 0;
    if (magnitude > 0x7f800000u) {
        half = 0x7e00u | ((magnitude >> 13) & 0x1ffu);
    } else if (magnitude >= 0x477ff000u) {  // rounds to infinity
        half = 0x7c00u;
    } else if (magnitude < 0x38800000u) {  // subnormal: adding 0.5 leaves the rounded mantissa in the low bits
        float shifted;
        __builtin_memcpy(&shifted, &magnitude, sizeof shifted);
        shifted += 0.5f;
        __builtin_memcpy(&half, &shifted, sizeof half);
        half -= 0x3f000000u;
    } else {
        half = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13;
    }
    return static_cast<uint16_t>(sign | half);
}

}  // namespace octavo::OCTAVO_ISA

#endif
