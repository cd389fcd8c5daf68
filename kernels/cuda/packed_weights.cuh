// Packed weight types on the device: eight consecutive values of a block as float32, with the scale, and in the very
// arithmetic of the reference's decoders (kernels/reference/weight_decode*.cpp), which also describe the layouts.
//
// PackedWeights<type> has the values and bytes of a block and
//   eight(block, at, values)   values[8] of the block from `at`, a multiple of 8, on
// Blocks lie at even addresses; those of Q4_K and Q5_K, and rows of theirs, at multiples of 16.
#pragma once

#include <bit>

#include "kernels/base/float8.h"
#include "kernels/cuda/device.cuh"
#include "kernels/matrix.h"
#include "kernels/weight_codebooks.h"

namespace octavo::cuda {

using Eight = float[8];

template <WeightType type>
struct PackedWeights;

namespace packed {

__device__ inline unsigned u16(const unsigned char* p) { return *reinterpret_cast<const uint16_t*>(p); }
__device__ inline unsigned u32(const unsigned char* p) { return u16(p) | u16(p + 2) << 16; }
__device__ inline float f16(const unsigned char* p) {
    return __half2float(__ushort_as_half(static_cast<uint16_t>(u16(p))));
}
__device__ inline unsigned nibble(const unsigned char* p, int index) { return p[index / 2] >> (index % 2 * 4) & 15u; }
// Twice an E2M1 number: 0, 1, 2, 3, 4, 6, 8, 12 and their negatives.
__device__ inline float twice_e2m1(unsigned code) {
    const unsigned low = code & 7u;
    const unsigned magnitude = low < 4 ? low : (2u | (low & 1u)) << (low / 2 - 1);
    return (code & 8u) != 0 ? 0 - static_cast<float>(magnitude) : static_cast<float>(magnitude);
}

// Four-bit codes of which value i of `count` is in the low half of byte i, and value count/2 + i in its high half: the
// eight from `at` on, each as use(i, code).
template <int count, class Use>
__device__ inline void eight_nibbles(const unsigned char* codes, int at, Use use) {
    const unsigned char* p = codes + at % (count / 2);
    const int shift = at / (count / 2) * 4;
#pragma unroll
    for (int i = 0; i < 8; ++i) use(i, p[i] >> shift & 15u);
}
// Two-bit codes: value n * bytes + i is bits 2n of byte i.
template <int bytes, class Use>
__device__ inline void eight_pairs(const unsigned char* codes, int at, Use use) {
    const unsigned char* p = codes + at % bytes;
    const int shift = at / bytes * 2;
#pragma unroll
    for (int i = 0; i < 8; ++i) use(i, p[i] >> shift & 3u);
}

}  // namespace packed

// ---- blocks of 32 ----

template <int kScales, bool kFifth, bool kMinimum>
struct OldBlock {
    static constexpr int kValues = 32;
    static constexpr int kBytes = 2 * kScales + (kFifth ? 4 : 0) + 16;
    __device__ static void eight(const unsigned char* block, int at, Eight& v) {
        const float scale = packed::f16(block);
        const unsigned fifth = kFifth ? packed::u32(block + 2 * kScales) >> at : 0;
        packed::eight_nibbles<32>(block + 2 * kScales + (kFifth ? 4 : 0), at, [&](int i, unsigned code) {
            if (kFifth) code |= (fifth >> i & 1u) << 4;
            if (kMinimum) {
                v[i] = static_cast<float>(code);
            } else {
                v[i] = scale * static_cast<float>(static_cast<int>(code) - (kFifth ? 16 : 8));
            }
        });
        if constexpr (kMinimum) {
            const float minimum = packed::f16(block + 2);
#pragma unroll
            for (int i = 0; i < 8; ++i) v[i] = scale * v[i] + minimum;
        }
    }
};
template <>
struct PackedWeights<WeightType::q4_0> : OldBlock<1, false, false> {};
template <>
struct PackedWeights<WeightType::q4_1> : OldBlock<2, false, true> {};
template <>
struct PackedWeights<WeightType::q5_0> : OldBlock<1, true, false> {};
template <>
struct PackedWeights<WeightType::q5_1> : OldBlock<2, true, true> {};

// ---- blocks of 256 with scaled sub-blocks ----

template <>
struct PackedWeights<WeightType::q2_k> {
    static constexpr int kValues = 256;
    static constexpr int kBytes = 84;
    __device__ static void eight(const unsigned char* block, int at, Eight& v) {
        const unsigned sub = block[at / 16];
        const float scale = packed::f16(block + 80) * static_cast<float>(sub & 15u);
        const float minimum = packed::f16(block + 82) * static_cast<float>(sub >> 4);
        packed::eight_pairs<32>(block + 16 + at / 128 * 32, at % 128,
                                [&](int i, unsigned code) { v[i] = scale * static_cast<float>(code) - minimum; });
    }
};

template <>
struct PackedWeights<WeightType::q3_k> {
    static constexpr int kValues = 256;
    static constexpr int kBytes = 110;
    __device__ static void eight(const unsigned char* block, int at, Eight& v) {
        const int sub = at / 16;
        const unsigned low = block[96 + sub % 8] >> (sub / 8 * 4) & 15u;
        const unsigned high = block[104 + sub % 4] >> (sub / 4 * 2) & 3u;
        const float scale = packed::f16(block + 108) * static_cast<float>(static_cast<int>(low | high << 4) - 32);
        const unsigned char* third = block + at % 32;
        packed::eight_pairs<32>(block + 32 + at / 128 * 32, at % 128, [&](int i, unsigned code) {
            code |= (third[i] >> (at / 32) & 1u) << 2;
            v[i] = scale * static_cast<float>(static_cast<int>(code) - 4);
        });
    }
};

// Q4_K and Q5_K; kFifth: 32 bytes of fifth bits lie before the codes.
template <bool kFifth>
struct SixBitScales {
    static constexpr int kValues = 256;
    static constexpr int kBytes = kFifth ? 176 : 144;
    __device__ static void eight(const unsigned char* block, int at, Eight& v) {
        // d, m, then the scales' 12 bytes: one load.
        const uint4 head = *reinterpret_cast<const uint4*>(block);
        const int sub = at / 32;
        const int shift = sub % 4 * 8;
        unsigned scale_code = head.y >> shift & 63u;
        unsigned minimum_code = head.z >> shift & 63u;
        if (sub >= 4) {
            const unsigned low = head.w >> shift;
            scale_code = (low & 15u) | (head.y >> shift & 0xc0u) >> 2;
            minimum_code = (low >> 4 & 15u) | (head.z >> shift & 0xc0u) >> 2;
        }
        const float scale = half_of(head.x & 0xffffu) * static_cast<float>(scale_code);
        const float minimum = half_of(head.x >> 16) * static_cast<float>(minimum_code);
        const uint2 codes = *reinterpret_cast<const uint2*>(block + (kFifth ? 48 : 16) + at / 64 * 32 + at % 32);
        uint2 fifth = {};
        if constexpr (kFifth) fifth = *reinterpret_cast<const uint2*>(block + 16 + at % 32);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            unsigned code = (i < 4 ? codes.x : codes.y) >> (i % 4 * 8 + at / 32 % 2 * 4) & 15u;
            if (kFifth) code |= ((i < 4 ? fifth.x : fifth.y) >> (i % 4 * 8 + sub) & 1u) << 4;
            v[i] = scale * static_cast<float>(code) - minimum;
        }
    }

  private:
    __device__ static float half_of(unsigned bits) {
        return __half2float(__ushort_as_half(static_cast<uint16_t>(bits)));
    }
};
template <>
struct PackedWeights<WeightType::q4_k> : SixBitScales<false> {};
template <>
struct PackedWeights<WeightType::q5_k> : SixBitScales<true> {};

template <>
struct PackedWeights<WeightType::q6_k> {
    static constexpr int kValues = 256;
    static constexpr int kBytes = 210;
    __device__ static void eight(const unsigned char* block, int at, Eight& v) {
        const int half = at / 128;
        const int sub_scale = static_cast<signed char>(block[192 + at / 16]);
        const float scale = packed::f16(block + 208) * static_cast<float>(sub_scale);
        const unsigned char* high = block + 128 + half * 32 + at % 32;
        const int shift = at % 128 / 32 * 2;
        packed::eight_nibbles<128>(block + half * 64, at % 128, [&](int i, unsigned code) {
            code |= (high[i] >> shift & 3u) << 4;
            v[i] = scale * static_cast<float>(static_cast<int>(code) - 32);
        });
    }
};

// ---- small floats, and digits ----

template <>
struct PackedWeights<WeightType::mxfp4> {
    static constexpr int kValues = 32;
    static constexpr int kBytes = 17;
    __device__ static void eight(const unsigned char* block, int at, Eight& v) {
        // Half the power of two, and twice the codes: that keeps the largest exponent finite.
        const unsigned exponent = block[0];
        const float scale = std::bit_cast<float>(exponent < 2 ? 0x00200000u << exponent : (exponent - 1) << 23);
        packed::eight_nibbles<32>(block + 1, at,
                                  [&](int i, unsigned code) { v[i] = scale * packed::twice_e2m1(code); });
    }
};

template <>
struct PackedWeights<WeightType::nvfp4> {
    static constexpr int kValues = 64;
    static constexpr int kBytes = 36;
    __device__ static void eight(const unsigned char* block, int at, Eight& v) {
        const float scale = e4m3_to_f32(block[at / 16]);
        packed::eight_nibbles<16>(block + 4 + at / 16 * 8, at % 16,
                                  [&](int i, unsigned code) { v[i] = scale * (0.5f * packed::twice_e2m1(code)); });
    }
};

template <>
struct PackedWeights<WeightType::tq1_0> {
    static constexpr int kValues = 256;
    static constexpr int kBytes = 54;
    __device__ static void eight(const unsigned char* block, int at, Eight& v) {
        const float d = packed::f16(block + 52);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            const int value = at + i;
            // Three parts: 32 bytes of five digits, 16 of five, 4 of four.
            const int start = value < 160 ? 0 : value < 240 ? 160 : 240;
            const int bytes = value < 160 ? 32 : value < 240 ? 16 : 4;
            const int first = value < 160 ? 0 : value < 240 ? 32 : 48;
            unsigned fraction = block[first + (value - start) % bytes];
            for (int n = (value - start) / bytes; n > 0; --n) fraction = fraction * 3 & 255u;
            v[i] = d * static_cast<float>(static_cast<int>(fraction * 3 >> 8) - 1);
        }
    }
};

template <>
struct PackedWeights<WeightType::tq2_0> {
    static constexpr int kValues = 256;
    static constexpr int kBytes = 66;
    __device__ static void eight(const unsigned char* block, int at, Eight& v) {
        const float d = packed::f16(block + 64);
        packed::eight_pairs<32>(block + at / 128 * 32, at % 128, [&](int i, unsigned code) {
            v[i] = d * static_cast<float>(static_cast<int>(code) - 1);
        });
    }
};

template <>
struct PackedWeights<WeightType::q1_0> {
    static constexpr int kValues = 128;
    static constexpr int kBytes = 18;
    __device__ static void eight(const unsigned char* block, int at, Eight& v) {
        const float d = packed::f16(block);
        const unsigned bits = block[2 + at / 8];
#pragma unroll
        for (int i = 0; i < 8; ++i) v[i] = (bits >> i & 1u) != 0 ? d : -d;
    }
};

template <>
struct PackedWeights<WeightType::q2_0> {
    static constexpr int kValues = 64;
    static constexpr int kBytes = 18;
    __device__ static void eight(const unsigned char* block, int at, Eight& v) {
        const float d = packed::f16(block);
        const unsigned codes = packed::u16(block + 2 + at / 4);
#pragma unroll
        for (int i = 0; i < 8; ++i) v[i] = d * static_cast<float>(static_cast<int>(codes >> (2 * i) & 3u) - 1);
    }
};

}  // namespace octavo::cuda
