// The small floats that safetensors hold, several at a time: E4M3, and E2M1 codes two to a byte. Exact, through FP16
// pairs: E4M3 is a part of FP16 that processors from 8.9 on convert in one step, and an E2M1 number is the high byte of
// an FP16 number.
#pragma once

#include "kernels/base/float8.h"
#include "kernels/cuda/device.cuh"

namespace octavo::cuda {

__device__ inline float2 floats_of(uint32_t halves) {
    return __half22float2(*reinterpret_cast<const __half2*>(&halves));
}

// The two lower bytes of a word, as FP16 numbers.
__device__ inline uint32_t e4m3_pair(uint32_t word) {
    uint32_t halves;
#if __CUDA_ARCH__ >= 890
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(static_cast<uint16_t>(word)));
#else
    // Exponent and mantissa one bit lower, as FP16 has them, are 2^-8 of the number. All ones is NaN.
    const uint32_t spread = __byte_perm(word, 0, 0x1404);
    const uint32_t small = (spread & 0x80008000u) | (spread >> 1 & 0x3f803f80u);
    const __half2 number = __hmul2(*reinterpret_cast<const __half2*>(&small), __float2half2_rn(256));
    halves = *reinterpret_cast<const uint32_t*>(&number);
    if ((spread & 0x00007f00u) == 0x00007f00u) halves |= 0x00007fffu;
    if ((spread & 0x7f000000u) == 0x7f000000u) halves |= 0x7fff0000u;
#endif
    return halves;
}

// Four numbers, the lowest byte first.
__device__ inline void e4m3_four(uint32_t word, float* values) {
    const float2 low = floats_of(e4m3_pair(word));
    const float2 high = floats_of(e4m3_pair(word >> 16));
    values[0] = low.x, values[1] = low.y, values[2] = high.x, values[3] = high.y;
}

__device__ inline float e4m3_value(unsigned char bits) { return floats_of(e4m3_pair(bits)).x; }

// The eight codes of a word, the lowest first, as FP16 pairs: pair i has the values i and i + 4.
__device__ inline void e2m1_pairs(uint32_t codes, uint32_t (&pairs)[4]) {
    constexpr uint32_t kSmall = 0x3e3c3800u, kLarge = 0x46444240u;  // high bytes of 0, 1/2, 1, 3/2; 2, 3, 4, 6
    const uint32_t magnitudes = codes & 0x77777777u;
    const uint32_t first = __byte_perm(kSmall, kLarge, magnitudes);  // a byte a value, 0 to 3
    const uint32_t second = __byte_perm(kSmall, kLarge, magnitudes >> 16);
#pragma unroll
    for (uint32_t i = 0; i < 4; ++i) {
        const uint32_t pair = permute(first, second, 0x4808u + 0x1010u * i);  // 8: a sign, which no magnitude has
        pairs[i] = pair | (codes << (12 - 4 * i) & 0x80008000u);
    }
}

__device__ inline void e2m1_eight(uint32_t codes, float (&values)[8]) {
    uint32_t pairs[4];
    e2m1_pairs(codes, pairs);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const float2 both = floats_of(pairs[i]);
        values[i] = both.x;
        values[i + 4] = both.y;
    }
}

}  // namespace octavo::cuda
