// Weights of few bits as whole numbers, for products with inputs that are whole numbers too (int8_rows.cuh). Layouts:
// weight_decode*.cpp of the reference.
//
// A lane takes the weights of a unit of a row at a time: segments of 16 consecutive columns each. Of a segment
//   weight = scale * (code - kZero), plus an offset in types that have one.
//
// Int8Weights<type>:
//   kValues, kBytes            of a block
//   kUnit                      columns, 32 or 64: more than 32 where they share what their scales are made of
//   kZero, kHasOffset
//   kScaleSegments             2: two segments after each other share a scale and one of inputs; 1: none do
//   Unit                       with scale[], and offset[] in types that have one
//   segment(unit, i)           number of segment i in the row
//   load(row, unit, to)        row: in shared memory, at any address; up to 4 bytes beyond the unit are looked at
//   codes(from, unit, i, to)   of segment i: four to a word, as int8
#pragma once

#include <iterator>
#include <utility>

#include "kernels/base/float8.h"
#include "kernels/cuda/device.cuh"
#include "kernels/weight_codebooks.h"
#include "kernels/weight_type.h"

namespace octavo::cuda {

template <WeightType type>
struct Int8Weights;

namespace int8_weights {

__device__ inline float half_at(const unsigned char* p) {
    return __half2float(__ushort_as_half(*reinterpret_cast<const uint16_t*>(p)));
}
__device__ inline float2 two_halves(uint32_t bits) { return __half22float2(*reinterpret_cast<const __half2*>(&bits)); }

// Consecutive words from any address on, by whole ones. All that surround them lie in shared memory.
class WordsFrom {
  public:
    __device__ explicit WordsFrom(const unsigned char* p) {
        const unsigned past = static_cast<unsigned>(__cvta_generic_to_shared(p)) & 3u;
        whole_ = p - past;
        select_ = 0x3210u + 0x1111u * past;
    }
    // From the byte `offset` on, a multiple of 4.
    template <int count>
    __device__ void read(int offset, uint32_t* words) const {
        const auto* const from = reinterpret_cast<const uint32_t*>(whole_ + offset);
        uint32_t low = from[0];
#pragma unroll
        for (int i = 0; i < count; ++i) {
            const uint32_t high = from[i + 1];
            words[i] = __byte_perm(low, high, select_);
            low = high;
        }
    }

  private:
    const unsigned char* whole_;
    unsigned select_;
};
template <int count>
__device__ inline void words_at(const unsigned char* p, uint32_t* words) {
    WordsFrom(p).read<count>(0, words);
}

// Four words from a multiple of 16 on.
__device__ inline void words_of_16(const unsigned char* p, uint32_t* words) {
    const uint4 all = *reinterpret_cast<const uint4*>(p);
    words[0] = all.x, words[1] = all.y, words[2] = all.z, words[3] = all.w;
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

// A unit is so many consecutive columns, with a scale to 32 of them.
template <int unit_columns, int values, int bytes, int zero, bool has_offset>
struct Consecutive {
    static constexpr int kUnit = unit_columns, kValues = values, kBytes = bytes, kZero = zero, kScaleSegments = 2;
    static constexpr bool kHasOffset = has_offset;
    __device__ static int segment(int unit, int i) { return unit_columns / 16 * unit + i; }
};

// Blocks of 256 of which segments 32 columns apart share bytes, with a scale to each: a unit is number `unit` % 2 of
// two interleaved, in half `unit` / 2 % 2 of the block.
template <int bytes, int zero, bool has_offset>
struct Interleaved {
    static constexpr int kUnit = 64, kValues = 256, kBytes = bytes, kZero = zero, kScaleSegments = 1;
    static constexpr bool kHasOffset = has_offset;
    __device__ static int first_segment(int unit) { return unit / 2 % 2 * 8 + unit % 2; }  // of the block
    __device__ static int segment(int unit, int i) { return unit / 4 * 16 + first_segment(unit) + 2 * i; }
};

// Codes of 32 columns that are there as int8.
struct WholeCodes {
    struct Unit {
        uint32_t words[8];
        float scale[2];
    };
    __device__ static void codes(const Unit& from, int, int i, uint32_t (&to)[4]) {
#pragma unroll
        for (int k = 0; k < 4; ++k) to[k] = from.words[4 * i + k];
    }
    // 16 bytes, of which the low halves are a segment and the high halves the next.
    __device__ static void look_up_two(const Table& table, const unsigned char* p, uint32_t* to) {
        uint32_t words[4];
        words_at<4>(p, words);
#pragma unroll
        for (int k = 0; k < 4; ++k) look_up(table, words[k], to[k], to[4 + k]);
    }
};

}  // namespace int8_weights

// ---- blocks of 32 ----

namespace int8_weights {

// A scale, an offset in some, four bytes of fifth bits in some, 16 bytes of codes.
template <bool kFifth, bool kOffset>
struct OldBlock : Consecutive<32, 32, 2 + (kOffset ? 2 : 0) + (kFifth ? 4 : 0) + 16,
                              kOffset  ? 0
                              : kFifth ? 16
                                       : 8,
                              kOffset> {
    struct Unit {
        uint32_t words[4], fifth;
        float scale[1], offset[1];
    };
    __device__ static void load(const unsigned char* row, int unit, Unit& to) {
        constexpr int kFifthAt = kOffset ? 4 : 2;
        const unsigned char* const block = row + unit * OldBlock::kBytes;
        to.scale[0] = half_at(block);
        if constexpr (kOffset) to.offset[0] = half_at(block + 2);
        if constexpr (kFifth) words_at<1>(block + kFifthAt, &to.fifth);
        words_at<4>(block + kFifthAt + (kFifth ? 4 : 0), to.words);
    }
    __device__ static void codes(const Unit& from, int, int i, uint32_t (&to)[4]) {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            to[k] = from.words[k] >> (4 * i) & 0x0f0f0f0fu;
            if constexpr (kFifth) {  // four bits to bit 4 of four bytes
                to[k] |= (from.fifth >> (16 * i + 4 * k) & 15u) * 0x02040810u & 0x10101010u;
            }
        }
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
struct Int8Weights<WeightType::q8_0> : int8_weights::Consecutive<32, 32, 34, 0, false>, int8_weights::WholeCodes {
    __device__ static void load(const unsigned char* row, int unit, Unit& to) {
        const unsigned char* const block = row + unit * kBytes;
        to.scale[0] = int8_weights::half_at(block);
        int8_weights::words_at<8>(block + 2, to.words);
    }
};

template <>
struct Int8Weights<WeightType::iq4_nl> : int8_weights::Consecutive<32, 32, 18, 0, false>, int8_weights::WholeCodes {
    __device__ static void load(const unsigned char* row, int unit, Unit& to) {
        constexpr int8_weights::Table kTable = int8_weights::table_of(kIq4Levels);
        const unsigned char* const block = row + unit * kBytes;
        to.scale[0] = int8_weights::half_at(block);
        look_up_two(kTable, block + 2, to.words);
    }
};

template <>
struct Int8Weights<WeightType::mxfp4> : int8_weights::Consecutive<32, 32, 17, 0, false>, int8_weights::WholeCodes {
    __device__ static void load(const unsigned char* row, int unit, Unit& to) {
        constexpr int8_weights::Table kTable = int8_weights::table_of(int8_weights::kTwiceE2m1);
        const unsigned char* const block = row + unit * kBytes;
        // Twice the codes, half the power of two: that keeps the largest exponent finite.
        to.scale[0] = e8m0_half_to_f32(block[0]);
        look_up_two(kTable, block + 1, to.words);
    }
};

// ---- blocks of 64 with a scale to 16 ----

template <>
struct Int8Weights<WeightType::nvfp4> : int8_weights::WholeCodes {
    static constexpr int kUnit = 32, kValues = 64, kBytes = 36, kZero = 0, kScaleSegments = 1;
    static constexpr bool kHasOffset = false;
    __device__ static int segment(int unit, int i) { return 2 * unit + i; }
    __device__ static void load(const unsigned char* row, int unit, Unit& to) {
        constexpr int8_weights::Table kTable = int8_weights::table_of(int8_weights::kTwiceE2m1);
        const unsigned char* const block = row + unit / 2 * kBytes;
        uint32_t words[4];
        int8_weights::words_at<4>(block + 4 + unit % 2 * 16, words);
#pragma unroll
        for (int i = 0; i < 2; ++i) {  // columns k and k + 8 share a byte
            uint32_t* const codes = &to.words[4 * i];
            int8_weights::look_up(kTable, words[2 * i], codes[0], codes[2]);
            int8_weights::look_up(kTable, words[2 * i + 1], codes[1], codes[3]);
            to.scale[i] = 0.5f * e4m3_to_f32(block[unit % 2 * 2 + i]);
        }
    }
};

// ---- blocks of 256 ----

namespace int8_weights {

// Q4_K and Q5_K, from multiples of 16 on: 64 columns share 32 bytes, the first 32 the low halves.
template <bool kFifth>
struct SixBitScales : Consecutive<64, 256, kFifth ? 176 : 144, 0, true> {
    struct Unit {
        uint32_t words[8], fifth[kFifth ? 8 : 1];
        float scale[2], offset[2];
    };
    __device__ static void load(const unsigned char* row, int unit, Unit& to) {
        const unsigned char* const block = row + unit / 4 * SixBitScales::kBytes;
        const int pair = unit % 4;  // of sub-blocks of 32
        uint32_t head[4];           // both factors, then 12 bytes of scales and minima
        words_of_16(block, head);
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            words_of_16(block + (kFifth ? 48 : 16) + pair * 32 + h * 16, &to.words[4 * h]);
            if constexpr (kFifth) words_of_16(block + 16 + h * 16, &to.fifth[4 * h]);
        }
        // Of both sub-blocks, a byte each; of the last four their upper two bits lie above those of the first four.
        const int shift = pair % 2 * 16;
        const uint32_t lower_scales = head[1] >> shift;
        const uint32_t lower_minima = head[2] >> shift;
        const uint32_t upper = head[3] >> shift;
        const uint32_t upper_scales = (upper & 0x0f0fu) | (lower_scales >> 2 & 0x3030u);
        const uint32_t upper_minima = (upper >> 4 & 0x0f0fu) | (lower_minima >> 2 & 0x3030u);
        const uint32_t scales = pair < 2 ? lower_scales & 0x3f3fu : upper_scales;
        const uint32_t minima = pair < 2 ? lower_minima & 0x3f3fu : upper_minima;
        const float2 factors = two_halves(head[0]);
#pragma unroll
        for (int sub = 0; sub < 2; ++sub) {
            to.scale[sub] = factors.x * static_cast<float>(scales >> (8 * sub) & 255u);
            to.offset[sub] = -factors.y * static_cast<float>(minima >> (8 * sub) & 255u);
        }
    }
    __device__ static void codes(const Unit& from, int unit, int i, uint32_t (&to)[4]) {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            to[k] = from.words[i % 2 * 4 + k] >> (i / 2 * 4) & 0x0f0f0f0fu;
            if constexpr (kFifth) {
                to[k] |= (from.fifth[i % 2 * 4 + k] >> (unit % 4 * 2 + i / 2) & 0x01010101u) << 4;
            }
        }
    }
};

}  // namespace int8_weights

template <>
struct Int8Weights<WeightType::q4_k> : int8_weights::SixBitScales<false> {};
template <>
struct Int8Weights<WeightType::q5_k> : int8_weights::SixBitScales<true> {};

template <>
struct Int8Weights<WeightType::q6_k> : int8_weights::Interleaved<210, 32, false> {
    struct Unit {
        uint32_t words[8], high[4];
        float scale[4];
    };
    __device__ static void load(const unsigned char* row, int unit, Unit& to) {
        const unsigned char* const block = row + unit / 4 * kBytes;
        const int half = unit / 2 % 2;
        const int h = unit % 2;
        int8_weights::words_at<4>(block + half * 64 + h * 16, to.words);
        int8_weights::words_at<4>(block + half * 64 + 32 + h * 16, to.words + 4);
        int8_weights::words_at<4>(block + 128 + half * 32 + h * 16, to.high);
        const float factor = int8_weights::half_at(block + 208);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const auto scale = static_cast<signed char>(block[192 + first_segment(unit) + 2 * i]);
            to.scale[i] = factor * static_cast<float>(scale);
        }
    }
    __device__ static void codes(const Unit& from, int, int i, uint32_t (&to)[4]) {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            to[k] = (from.words[i % 2 * 4 + k] >> (i / 2 * 4) & 0x0f0f0f0fu) |
                    (i < 2 ? from.high[k] << (4 - 2 * i) : from.high[k] >> (2 * i - 4)) & 0x30303030u;
        }
    }
};

template <>
struct Int8Weights<WeightType::q2_k> : int8_weights::Interleaved<84, 0, true> {
    struct Unit {
        uint32_t words[4];
        float scale[4], offset[4];
    };
    __device__ static void load(const unsigned char* row, int unit, Unit& to) {
        const unsigned char* const block = row + unit / 4 * kBytes;
        int8_weights::words_at<4>(block + 16 + unit / 2 % 2 * 32 + unit % 2 * 16, to.words);
        const float factor = int8_weights::half_at(block + 80);
        const float minimum = int8_weights::half_at(block + 82);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const unsigned sub = block[first_segment(unit) + 2 * i];
            to.scale[i] = factor * static_cast<float>(sub & 15u);
            to.offset[i] = -minimum * static_cast<float>(sub >> 4);
        }
    }
    __device__ static void codes(const Unit& from, int, int i, uint32_t (&to)[4]) {
#pragma unroll
        for (int k = 0; k < 4; ++k) to[k] = from.words[k] >> (2 * i) & 0x03030303u;
    }
};

template <>
struct Int8Weights<WeightType::q3_k> : int8_weights::Interleaved<110, 4, false> {
    struct Unit {
        uint32_t words[4], third[4];
        float scale[4];
    };
    __device__ static void load(const unsigned char* row, int unit, Unit& to) {
        const unsigned char* const block = row + unit / 4 * kBytes;
        int8_weights::words_at<4>(block + 32 + unit / 2 % 2 * 32 + unit % 2 * 16, to.words);
        int8_weights::words_at<4>(block + unit % 2 * 16, to.third);
        const float factor = int8_weights::half_at(block + 108);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int sub = first_segment(unit) + 2 * i;
            const unsigned low = block[96 + sub % 8] >> (sub / 8 * 4) & 15u;
            const unsigned high = block[104 + sub % 4] >> (sub / 4 * 2) & 3u;
            to.scale[i] = factor * static_cast<float>(static_cast<int>(low | high << 4) - 32);
        }
    }
    __device__ static void codes(const Unit& from, int unit, int i, uint32_t (&to)[4]) {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            to[k] = (from.words[k] >> (2 * i) & 0x03030303u) | (from.third[k] >> (unit / 2 % 2 * 4 + i) & 0x01010101u)
                                                                   << 2;
        }
    }
};

template <>
struct Int8Weights<WeightType::iq4_xs> : int8_weights::Consecutive<32, 256, 136, 0, false>, int8_weights::WholeCodes {
    __device__ static void load(const unsigned char* row, int unit, Unit& to) {
        constexpr int8_weights::Table kTable = int8_weights::table_of(kIq4Levels);
        const unsigned char* const block = row + unit / 8 * kBytes;
        const int sub = unit % 8;
        const unsigned low = block[4 + sub / 2] >> (sub % 2 * 4) & 15u;
        const unsigned high = *reinterpret_cast<const uint16_t*>(block + 2) >> (sub * 2) & 3u;
        to.scale[0] = int8_weights::half_at(block) * static_cast<float>(static_cast<int>(low | high << 4) - 32);
        look_up_two(kTable, block + 8 + sub * 16, to.words);
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
