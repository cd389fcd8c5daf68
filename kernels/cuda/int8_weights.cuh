// Weights of few bits as whole numbers, for products with inputs that are whole numbers too (int8_rows.cuh). Layouts:
// weight_decode*.cpp of the reference.
//
// A lane takes 32 weights of a row at a time, a unit: two segments of 16 consecutive columns. Of those
//   weight = scale * (code - kZero), plus an offset in types that have one.
//
// Int8Weights<type>:
//   kValues, kBytes       of a block
//   kZero, kHasOffset
//   kOneScale             both segments have the same scale and offset, and one scale of inputs
//   segment(unit, half)   number of a segment in the row
//   load(row, unit, to)   row: in shared memory, at any address; up to 4 bytes beyond the unit are looked at
#pragma once

#include <iterator>
#include <utility>

#include "kernels/base/float8.h"
#include "kernels/cuda/device.cuh"
#include "kernels/weight_codebooks.h"
#include "kernels/weight_type.h"

namespace octavo::cuda {

struct Int8Unit {
    uint32_t codes[2][4];  // four to a word, as int8
    float scale[2];
    float offset[2];
};

template <WeightType type>
struct Int8Weights;

namespace int8_weights {

__device__ inline float half_at(const unsigned char* p) {
    return __half2float(__ushort_as_half(*reinterpret_cast<const uint16_t*>(p)));
}
__device__ inline float2 two_halves(uint32_t bits) { return __half22float2(*reinterpret_cast<const __half2*>(&bits)); }

// Consecutive words from any address on. All that surround them lie in shared memory.
template <int count>
__device__ inline void words_at(const unsigned char* p, uint32_t (&words)[count]) {
    const unsigned past = static_cast<unsigned>(__cvta_generic_to_shared(p)) & 3u;
    const auto* const from = reinterpret_cast<const uint32_t*>(p - past);
    const unsigned select = 0x3210u + 0x1111u * past;
    uint32_t low = from[0];
#pragma unroll
    for (int i = 0; i < count; ++i) {
        const uint32_t high = from[i + 1];
        words[i] = __byte_perm(low, high, select);
        low = high;
    }
}

// Sixteen bytes from a multiple of 16 on.
__device__ inline void words_of_16(const unsigned char* p, uint32_t (&words)[4]) {
    const uint4 all = *reinterpret_cast<const uint4*>(p);
    words[0] = all.x, words[1] = all.y, words[2] = all.z, words[3] = all.w;
}

// Byte i of word n holds codes 4n + i of both segments.
__device__ inline void split_nibbles(const uint32_t (&words)[4], Int8Unit& to) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        to.codes[0][i] = words[i] & 0x0f0f0f0fu;
        to.codes[1][i] = words[i] >> 4 & 0x0f0f0f0fu;
    }
}

// Sixteen numbers that four-bit codes stand for.
struct Table {
    uint32_t words[4];
};
constexpr Table table_of(const int (&numbers)[16]) {
    Table table = {};
    for (int i = 0; i < 16; ++i) table.words[i / 4] |= (static_cast<uint32_t>(numbers[i]) & 255u) << (i % 4 * 8);
    return table;
}
constexpr int kTwiceE2m1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// Those of the low and of the high halves of four bytes.
__device__ inline void look_up(const Table& table, uint32_t codes, uint32_t& low, uint32_t& high) {
    const uint32_t index = codes & 0x77777777u;                       // among eight
    const uint32_t which = (codes & 0x88888888u) >> 1 | 0x32103210u;  // of the two eights
    const auto four = [&](int shift) {
        const uint32_t lower = __byte_perm(table.words[0], table.words[1], index >> shift);
        const uint32_t upper = __byte_perm(table.words[2], table.words[3], index >> shift);
        return __byte_perm(lower, upper, which >> shift);
    };
    const uint32_t first = four(0);
    const uint32_t second = four(16);
    low = __byte_perm(first, second, 0x6420u);
    high = __byte_perm(first, second, 0x7531u);
}
__device__ inline void split_codes(const Table& table, const uint32_t (&words)[4], Int8Unit& to) {
#pragma unroll
    for (int i = 0; i < 4; ++i) look_up(table, words[i], to.codes[0][i], to.codes[1][i]);
}

// A unit is 32 consecutive columns with one scale.
template <int values, int bytes, int zero, bool has_offset>
struct PlainUnits {
    static constexpr int kValues = values, kBytes = bytes, kZero = zero;
    static constexpr bool kHasOffset = has_offset, kOneScale = true;
    __device__ static int segment(int unit, int half) { return 2 * unit + half; }
};

// Blocks of 256 of which a unit is two segments that share bytes: `unit` % 8 is h + 2 b + 4 n in bits, the first column
// 16 h + b_columns b + 128 n, the other segment `half_columns` behind it.
template <int bytes, int zero, bool has_offset, int b_columns, int half_columns>
struct SharedBytes {
    static constexpr int kValues = 256, kBytes = bytes, kZero = zero;
    static constexpr bool kHasOffset = has_offset, kOneScale = false;
    // In its block.
    __device__ static int segment_of_block(int unit, int half) {
        return unit % 2 + unit / 2 % 2 * (b_columns / 16) + unit / 4 % 2 * 8 + half * (half_columns / 16);
    }
    __device__ static int segment(int unit, int half) { return unit / 8 * 16 + segment_of_block(unit, half); }
};

}  // namespace int8_weights

// ---- blocks of 32 ----

namespace int8_weights {

// A scale, an offset in some, four bytes of fifth bits in some, 16 bytes of codes.
template <bool kFifth, bool kOffset>
struct OldBlock : PlainUnits<32, 2 + (kOffset ? 2 : 0) + (kFifth ? 4 : 0) + 16,
                             kOffset  ? 0
                             : kFifth ? 16
                                      : 8,
                             kOffset> {
    __device__ static void load(const unsigned char* row, int unit, Int8Unit& to) {
        const unsigned char* const block = row + unit * OldBlock::kBytes;
        constexpr int kFifthAt = kOffset ? 4 : 2;
        uint32_t words[4];
        words_at(block + kFifthAt + (kFifth ? 4 : 0), words);
        split_nibbles(words, to);
        if constexpr (kFifth) {
            uint32_t fifth[1];
            words_at(block + kFifthAt, fifth);
#pragma unroll
            for (int i = 0; i < 8; ++i) {  // four bits to bit 4 of four bytes
                to.codes[i / 4][i % 4] |= (fifth[0] >> (4 * i) & 15u) * 0x02040810u & 0x10101010u;
            }
        }
        to.scale[0] = half_at(block);
        if constexpr (kOffset) to.offset[0] = half_at(block + 2);
    }
};

}  // namespace int8_weights

template <>
struct Int8Weights<WeightType::q4_0> : int8_weights::OldBlock<false, false> {};
template <>
struct Int8Weights<WeightType::q4_1> : int8_weights::OldBlock<false, true> {};
template <>
struct Int8Weights<WeightType::q5_0> : int8_weights::OldBlock<true, false> {};
template <>
struct Int8Weights<WeightType::q5_1> : int8_weights::OldBlock<true, true> {};

template <>
struct Int8Weights<WeightType::q8_0> : int8_weights::PlainUnits<32, 34, 0, false> {
    __device__ static void load(const unsigned char* row, int unit, Int8Unit& to) {
        const unsigned char* const block = row + unit * kBytes;
        uint32_t words[8];
        int8_weights::words_at(block + 2, words);
#pragma unroll
        for (int i = 0; i < 8; ++i) to.codes[i / 4][i % 4] = words[i];
        to.scale[0] = int8_weights::half_at(block);
    }
};

template <>
struct Int8Weights<WeightType::iq4_nl> : int8_weights::PlainUnits<32, 18, 0, false> {
    __device__ static void load(const unsigned char* row, int unit, Int8Unit& to) {
        constexpr int8_weights::Table kTable = int8_weights::table_of(kIq4Levels);
        const unsigned char* const block = row + unit * kBytes;
        uint32_t words[4];
        int8_weights::words_at(block + 2, words);
        int8_weights::split_codes(kTable, words, to);
        to.scale[0] = int8_weights::half_at(block);
    }
};

template <>
struct Int8Weights<WeightType::mxfp4> : int8_weights::PlainUnits<32, 17, 0, false> {
    __device__ static void load(const unsigned char* row, int unit, Int8Unit& to) {
        constexpr int8_weights::Table kTable = int8_weights::table_of(int8_weights::kTwiceE2m1);
        const unsigned char* const block = row + unit * kBytes;
        uint32_t words[4];
        int8_weights::words_at(block + 1, words);
        int8_weights::split_codes(kTable, words, to);
        // Twice the codes, half the power of two: that keeps the largest exponent finite.
        to.scale[0] = e8m0_half_to_f32(block[0]);
    }
};

// ---- blocks of 64 with a scale to 16 ----

template <>
struct Int8Weights<WeightType::nvfp4> {
    static constexpr int kValues = 64, kBytes = 36, kZero = 0;
    static constexpr bool kHasOffset = false, kOneScale = false;
    __device__ static int segment(int unit, int half) { return 2 * unit + half; }
    __device__ static void load(const unsigned char* row, int unit, Int8Unit& to) {
        constexpr int8_weights::Table kTable = int8_weights::table_of(int8_weights::kTwiceE2m1);
        const unsigned char* const block = row + unit / 2 * kBytes;
        uint32_t words[4];
        int8_weights::words_at(block + 4 + unit % 2 * 16, words);
#pragma unroll
        for (int half = 0; half < 2; ++half) {  // columns i and i + 8 share a byte
            uint32_t(&codes)[4] = to.codes[half];
            int8_weights::look_up(kTable, words[2 * half], codes[0], codes[2]);
            int8_weights::look_up(kTable, words[2 * half + 1], codes[1], codes[3]);
            to.scale[half] = 0.5f * e4m3_to_f32(block[unit % 2 * 2 + half]);
        }
    }
};

// ---- blocks of 256 ----

namespace int8_weights {

// Q4_K and Q5_K, from multiples of 16 on. Segments of the two halves of the same 16 bytes are 32 columns apart.
template <bool kFifth>
struct SixBitScales : SharedBytes<kFifth ? 176 : 144, 0, true, 64, 32> {
    __device__ static void load(const unsigned char* row, int unit, Int8Unit& to) {
        const unsigned char* const block = row + unit / 8 * SixBitScales::kBytes;
        const int pair = unit / 2 % 4;  // of sub-blocks of 32
        uint32_t head[4];               // both factors, then 12 bytes of scales and minima
        uint32_t words[4];
        words_of_16(block, head);
        words_of_16(block + (kFifth ? 48 : 16) + pair * 32 + unit % 2 * 16, words);
        split_nibbles(words, to);
        if constexpr (kFifth) {
            words_of_16(block + 16 + unit % 2 * 16, words);
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                to.codes[i / 4][i % 4] |= (words[i % 4] >> (2 * pair + i / 4) & 0x01010101u) << 4;
            }
        }
        // Of both sub-blocks, a byte each.
        const int shift = pair % 2 * 16;
        uint32_t scales = head[1] >> shift & 0x3f3fu;
        uint32_t minima = head[2] >> shift & 0x3f3fu;
        if (pair >= 2) {
            const uint32_t low = head[3] >> shift;
            scales = (low & 0x0f0fu) | (head[1] >> shift & 0xc0c0u) >> 2;
            minima = (low >> 4 & 0x0f0fu) | (head[2] >> shift & 0xc0c0u) >> 2;
        }
        const float2 factors = two_halves(head[0]);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            to.scale[half] = factors.x * static_cast<float>(scales >> (8 * half) & 255u);
            to.offset[half] = -factors.y * static_cast<float>(minima >> (8 * half) & 255u);
        }
    }
};

}  // namespace int8_weights

template <>
struct Int8Weights<WeightType::q4_k> : int8_weights::SixBitScales<false> {};
template <>
struct Int8Weights<WeightType::q5_k> : int8_weights::SixBitScales<true> {};

template <>
struct Int8Weights<WeightType::q6_k> : int8_weights::SharedBytes<210, 32, false, 32, 64> {
    __device__ static void load(const unsigned char* row, int unit, Int8Unit& to) {
        const unsigned char* const block = row + unit / 8 * kBytes;
        const int n = unit / 4 % 2;
        const int b = unit / 2 % 2;
        const int h = unit % 2;
        uint32_t words[4], high[4];
        int8_weights::words_at(block + n * 64 + b * 32 + h * 16, words);
        int8_weights::words_at(block + 128 + n * 32 + h * 16, high);
        int8_weights::split_nibbles(words, to);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            to.codes[i / 4][i % 4] |= (high[i % 4] >> (2 * b + i / 4 * 4) & 0x03030303u) << 4;
        }
        const float factor = int8_weights::half_at(block + 208);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const auto scale = static_cast<signed char>(block[192 + segment_of_block(unit, half)]);
            to.scale[half] = factor * static_cast<float>(scale);
        }
    }
};

template <>
struct Int8Weights<WeightType::q2_k> : int8_weights::SharedBytes<84, 0, true, 64, 32> {
    __device__ static void load(const unsigned char* row, int unit, Int8Unit& to) {
        const unsigned char* const block = row + unit / 8 * kBytes;
        const int shift = unit / 2 % 2 * 4;
        uint32_t words[4];
        int8_weights::words_at(block + 16 + unit / 4 % 2 * 32 + unit % 2 * 16, words);
        const float factor = int8_weights::half_at(block + 80);
        const float minimum = int8_weights::half_at(block + 82);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
#pragma unroll
            for (int i = 0; i < 4; ++i) to.codes[half][i] = words[i] >> (shift + 2 * half) & 0x03030303u;
            const unsigned sub = block[segment_of_block(unit, half)];
            to.scale[half] = factor * static_cast<float>(sub & 15u);
            to.offset[half] = -minimum * static_cast<float>(sub >> 4);
        }
    }
};

template <>
struct Int8Weights<WeightType::q3_k> : int8_weights::SharedBytes<110, 4, false, 64, 32> {
    __device__ static void load(const unsigned char* row, int unit, Int8Unit& to) {
        const unsigned char* const block = row + unit / 8 * kBytes;
        const int n = unit / 4 % 2;
        const int b = unit / 2 % 2;
        const int h = unit % 2;
        uint32_t words[4], third[4];
        int8_weights::words_at(block + 32 + n * 32 + h * 16, words);
        int8_weights::words_at(block + h * 16, third);
        const float factor = int8_weights::half_at(block + 108);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                to.codes[half][i] = (words[i] >> (4 * b + 2 * half) & 0x03030303u) |
                                    (third[i] >> (4 * n + 2 * b + half) & 0x01010101u) << 2;
            }
            const int sub = segment_of_block(unit, half);
            const unsigned low = block[96 + sub % 8] >> (sub / 8 * 4) & 15u;
            const unsigned high = block[104 + sub % 4] >> (sub / 4 * 2) & 3u;
            to.scale[half] = factor * static_cast<float>(static_cast<int>(low | high << 4) - 32);
        }
    }
};

template <>
struct Int8Weights<WeightType::iq4_xs> : int8_weights::PlainUnits<256, 136, 0, false> {
    __device__ static void load(const unsigned char* row, int unit, Int8Unit& to) {
        constexpr int8_weights::Table kTable = int8_weights::table_of(kIq4Levels);
        const unsigned char* const block = row + unit / 8 * kBytes;
        const int sub = unit % 8;
        uint32_t words[4];
        int8_weights::words_at(block + 8 + sub * 16, words);
        int8_weights::split_codes(kTable, words, to);
        const unsigned low = block[4 + sub / 2] >> (sub % 2 * 4) & 15u;
        const unsigned high = *reinterpret_cast<const uint16_t*>(block + 2) >> (sub * 2) & 3u;
        to.scale[0] = int8_weights::half_at(block) * static_cast<float>(static_cast<int>(low | high << 4) - 32);
    }
};

// ---- by type ----

inline constexpr WeightType kInt8Types[] = {WeightType::q4_k,   WeightType::q6_k,   WeightType::q8_0, WeightType::q5_k,
                                            WeightType::q4_0,   WeightType::q5_0,   WeightType::q4_1, WeightType::q5_1,
                                            WeightType::iq4_xs, WeightType::iq4_nl, WeightType::q3_k, WeightType::q2_k,
                                            WeightType::mxfp4,  WeightType::nvfp4};

constexpr bool is_int8_type(WeightType type) {
    for (const WeightType one : kInt8Types) {
        if (type == one) return true;
    }
    return false;
}

// Calls run(std::integral_constant<WeightType, type>) with the type, one of these, as a constant. The branch is the
// same for all threads of a warp.
template <class Run, size_t... index>
__device__ inline void with_int8_type(WeightType type, Run&& run, std::index_sequence<index...>) {
    const auto run_if = [&](auto constant) {
        if (type == decltype(constant)::value) run(constant);
        return type == decltype(constant)::value;
    };
    (void)(run_if(std::integral_constant<WeightType, kInt8Types[index]>()) || ...);
}
template <class Run>
__device__ inline void with_int8_type(WeightType type, Run&& run) {
    with_int8_type(type, run, std::make_index_sequence<std::size(kInt8Types)>());
}

}  // namespace octavo::cuda
