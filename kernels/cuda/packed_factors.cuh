// Packed types as factors (factor_weights.cuh): those of whole numbers or one table of sixteen, two bits and more.
// Eight codes at a time become FP16 pairs by whole-number steps. Layouts: weight_decode*.cpp of the reference.
//
// Scales of sub-blocks are a block's, in FP16, times whole numbers. So they lose no bits below 2^-14: there they are
// exact.
#pragma once

#include "kernels/cuda/factor_weights.cuh"
#include "kernels/cuda/int8_weights.cuh"

namespace octavo::cuda {

namespace factors {

// ---- numbers ----

// Eight whole numbers of 0 to 255, plus 1024: their low bytes' place in FP16.
struct Numbers {
    uint32_t pairs[4];
};
constexpr uint32_t kNumber = 0x64006400u;                                         // two of 0
constexpr uint32_t number(uint32_t whole) { return kNumber + whole * 0x10001u; }  // two of `whole`

// Of the bytes `first` and `second` of a word.
template <uint32_t first, uint32_t second>
__device__ inline uint32_t number_pair(uint32_t bytes) {
    return __byte_perm(bytes, kNumber, 0x7070u + first + second * 0x100u);
}
__device__ inline Numbers numbers_of(uint2 bytes) {
    return {{number_pair<0, 1>(bytes.x), number_pair<2, 3>(bytes.x), number_pair<0, 1>(bytes.y),
             number_pair<2, 3>(bytes.y)}};
}
__device__ inline __half2 less(uint32_t pair, uint32_t zero) { return __hsub2(halves(pair), halves(zero)); }

// Less `zero`, a pair of them, times `scale`.
__device__ inline uint4 scaled(const Numbers& n, uint32_t zero, __half2 scale) {
    const auto pair = [&](int i) { return bits(__hmul2(less(n.pairs[i], zero), scale)); };
    return {pair(0), pair(1), pair(2), pair(3)};
}
// Times `scale`, plus `offset`, rounded once.
__device__ inline uint4 scaled_plus(const Numbers& n, __half2 scale, __half2 offset) {
    const auto pair = [&](int i) { return bits(__hfma2(less(n.pairs[i], kNumber), scale, offset)); };
    return {pair(0), pair(1), pair(2), pair(3)};
}

// ---- bytes ----

// Eight bytes, and a half, from an even address on.
__device__ inline uint2 even_eight(const unsigned char* at) {
    const auto* const words = reinterpret_cast<const uint16_t*>(at);
    return {words[0] | uint32_t{words[1]} << 16, words[2] | uint32_t{words[3]} << 16};
}
__device__ inline uint32_t even_half(const unsigned char* at) { return *reinterpret_cast<const uint16_t*>(at); }

using int8_weights::WordsFrom;
__device__ inline uint2 eight_bytes(const WordsFrom& bytes, int offset) {  // a multiple of 4
    uint32_t words[2];
    bytes.read<2>(offset, words);
    return {words[0], words[1]};
}

// The low halves of eight bytes, or with a shift of 4 the high ones.
__device__ inline uint2 nibbles(uint2 bytes, int shift) {
    return {bytes.x >> shift & 0x0f0f0f0fu, bytes.y >> shift & 0x0f0f0f0fu};
}
// The bits of `mask`, from as many places to their right; to their left where `shift` is negative.
__device__ inline uint32_t masked_shift(uint32_t bytes, int shift, uint32_t mask) {
    return __funnelshift_l(bytes, bytes, static_cast<unsigned>(shift)) & mask;
}
__device__ inline uint2 masked_shift(uint2 bytes, int shift, uint32_t mask) {
    return {masked_shift(bytes.x, shift, mask), masked_shift(bytes.y, shift, mask)};
}
// A bit of each of eight, to bit 4 of eight bytes.
__device__ inline uint2 fifth_bits(uint32_t eight) {
    return {(eight & 15u) * 0x02040810u & 0x10101010u, (eight >> 4) * 0x02040810u & 0x10101010u};
}
__device__ inline uint2 joined(uint2 a, uint2 b) { return {a.x | b.x, a.y | b.y}; }

// The halves of a word.
__device__ inline uint32_t low_twice(uint32_t word) { return __byte_perm(word, 0, 0x1010u); }
__device__ inline uint32_t high_twice(uint32_t word) { return __byte_perm(word, 0, 0x3232u); }
// Two bytes, of sub-blocks that are 32 columns apart, where number pairs have them.
__device__ inline uint32_t two_bytes(const unsigned char* at) { return at[0] | uint32_t{at[2]} << 16; }

// The numbers, plus 128, that the table has for the codes of nibbles(bytes, shift).
__device__ inline Numbers looked_up(const int8_weights::Table& table, uint2 bytes, int shift) {
    const auto four_of_table = [&](int i) { return table.words[i] ^ 0x80808080u; };
    // Codes of both words by turns. Three bits of each choose among eight levels, twice, the last between the two.
    const uint32_t codes = (bytes.x >> shift & 0x0f0f0f0fu) | (bytes.y << (4 - shift) & 0xf0f0f0f0u);
    const uint32_t index = codes & 0x77777777u;
    const uint32_t which = (codes >> 1 & 0x44444444u) | 0x32103210u;
    const auto four = [&](int from) {
        const uint32_t lower = permute(four_of_table(0), four_of_table(1), index >> from);
        const uint32_t upper = permute(four_of_table(2), four_of_table(3), index >> from);
        return permute(lower, upper, which >> from);
    };
    const uint32_t first = four(0), second = four(16);
    return {{number_pair<0, 2>(first), number_pair<0, 2>(second), number_pair<1, 3>(first), number_pair<1, 3>(second)}};
}
__device__ inline Numbers iq4_levels(uint2 bytes, int shift) {
    constexpr int8_weights::Table kTable = int8_weights::table_of(kIq4Levels);
    return looked_up(kTable, bytes, shift);
}
__device__ inline Numbers twice_e2m1(uint2 bytes, int shift) {
    constexpr int8_weights::Table kTable = int8_weights::table_of(int8_weights::kTwiceE2m1);
    return looked_up(kTable, bytes, shift);
}

// ---- blocks of 32 ----

// A scale, an offset in some, fifth bits in some, then codes. zero: the code that stands for 0.
template <WeightType type, int zero, bool offset = false, bool fifth = false>
struct FactorsOf32 {
    static constexpr WeightType kType = type;
    static constexpr int kFifthAt = offset ? 4 : 2, kCodesAt = kFifthAt + (fifth ? 4 : 0);
    static constexpr int kBlockBytes = kCodesAt + (type == WeightType::q8_0 ? 32 : 16);
    static constexpr int kColumns = type == WeightType::q8_0 ? 128 : 256;
    static constexpr int kBytes = kColumns / 32 * kBlockBytes, kAlign = 2;

    __device__ static Numbers numbers(const unsigned char* block, int at) {
        if constexpr (type == WeightType::q8_0) {
            const uint2 codes = even_eight(block + kCodesAt + at);
            return numbers_of({codes.x ^ 0x80808080u, codes.y ^ 0x80808080u});
        } else {
            const uint2 bytes = even_eight(block + kCodesAt + at % 16);
            const int shift = at / 16 * 4;
            if constexpr (type == WeightType::iq4_nl) return iq4_levels(bytes, shift);
            const uint2 codes = nibbles(bytes, shift);
            return numbers_of(fifth ? joined(codes, fifth_bits(block[kFifthAt + at / 8])) : codes);
        }
    }
    __device__ static void eights(const FactorSource& from, int column, uint4 (&f)[2]) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const unsigned char* const block = from.chunk + (column / 32 + i) * kBlockBytes;
            const Numbers n = numbers(block, column % 32);
            const __half2 scale = halves(twice(even_half(block)));
            if constexpr (offset) {
                f[i] = scaled_plus(n, scale, halves(twice(even_half(block + 2))));
            } else {
                f[i] = scaled(n, number(zero), scale);
            }
        }
    }
};

// ---- blocks of 256 ----

// Scales of two sub-blocks: numbers of theirs, less `zero`, times the block's own (in both halves).
__device__ inline __half2 scale_pair(uint32_t numbers, uint32_t zero, uint32_t of_block) {
    return __hmul2(less(numbers, zero), halves(of_block));
}
__device__ inline __half2 of_sub_block(__half2 pair, int i) { return i == 0 ? __low2half2(pair) : __high2half2(pair); }

// Eight columns lie in the low halves of eight bytes, those 32 further on in their high halves.
template <WeightType type, bool fifth>
struct SixBitScaleFactors {
    static constexpr WeightType kType = type;
    static constexpr int kColumns = 256, kBytes = fifth ? 176 : 144, kAlign = 16;

    __device__ static void eights(const FactorSource& from, int column, uint4 (&f)[2]) {
        const uint4 head = *reinterpret_cast<const uint4*>(from.chunk);  // d, m, then the scales' 12 bytes
        const auto eight = [&](int at) { return *reinterpret_cast<const uint2*>(from.chunk + at + column % 32); };
        const uint2 codes = eight((fifth ? 48 : 16) + column / 64 * 32);
        const int shift = column / 64 % 2 * 16;  // both sub-blocks' codes lie side by side
        const uint32_t scale_bytes = head.y >> shift, minimum_bytes = head.z >> shift, low_bytes = head.w >> shift;
        const bool later = column >= 128;
        const uint32_t scale_codes =
            later ? (low_bytes & 0x0f0fu) | (scale_bytes & 0xc0c0u) >> 2 : scale_bytes & 0x3f3fu;
        const uint32_t minimum_codes =
            later ? (low_bytes >> 4 & 0x0f0fu) | (minimum_bytes & 0xc0c0u) >> 2 : minimum_bytes & 0x3f3fu;
        const __half2 scales = scale_pair(number_pair<0, 1>(scale_codes), kNumber, low_twice(head.x));
        const __half2 offsets = __hneg2(scale_pair(number_pair<0, 1>(minimum_codes), kNumber, high_twice(head.x)));
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            uint2 bytes = nibbles(codes, 4 * i);
            if constexpr (fifth) {
                bytes = joined(bytes, masked_shift(eight(16), 4 - (column / 64 * 2 + i), 0x10101010u));
            }
            f[i] = scaled_plus(numbers_of(bytes), of_sub_block(scales, i), of_sub_block(offsets, i));
        }
    }
};

}  // namespace factors

template <>
struct FactorWeights<WeightType::q8_0> : factors::FactorsOf32<WeightType::q8_0, 128> {};
template <>
struct FactorWeights<WeightType::q4_0> : factors::FactorsOf32<WeightType::q4_0, 8> {};
template <>
struct FactorWeights<WeightType::q4_1> : factors::FactorsOf32<WeightType::q4_1, 0, true> {};
template <>
struct FactorWeights<WeightType::q5_0> : factors::FactorsOf32<WeightType::q5_0, 16, false, true> {};
template <>
struct FactorWeights<WeightType::q5_1> : factors::FactorsOf32<WeightType::q5_1, 0, true, true> {};
template <>
struct FactorWeights<WeightType::iq4_nl> : factors::FactorsOf32<WeightType::iq4_nl, 128> {};
template <>
struct FactorWeights<WeightType::mxfp4> {
    static constexpr WeightType kType = WeightType::mxfp4;
    static constexpr int kColumns = 256, kBytes = 136, kAlign = 1;

    // Twice the codes, half the power of two: 2^(exponent - 128). FP16 has no room for all that give weights of its
    // range; below 2^-14 that number comes off first.
    __device__ static void eights(const FactorSource& from, int column, uint4 (&f)[2]) {
        using namespace factors;
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const unsigned char* const block = from.chunk + (column / 32 + i) * 17;
            const Numbers n = twice_e2m1(eight_bytes(WordsFrom(block + 1), column % 16), column % 32 / 16 * 4);
            const int exponent = block[0];
            const bool small = exponent < 114;
            const __half2 first = halves(small ? 0x04000400u : 0x3c003c00u);
            const int left = small ? max(exponent - 99, 0) : min(exponent - 113, 31);  // as FP16 has it
            const __half2 second = halves(static_cast<uint32_t>(left) * 0x04000400u);
            const __half2 zero = __hneg2(__hmul2(halves(number(128)), first));
            const auto pair = [&](int k) { return bits(__hmul2(__hfma2(halves(n.pairs[k]), first, zero), second)); };
            f[i] = {pair(0), pair(1), pair(2), pair(3)};
        }
    }
};

template <>
struct FactorWeights<WeightType::q4_k> : factors::SixBitScaleFactors<WeightType::q4_k, false> {};
template <>
struct FactorWeights<WeightType::q5_k> : factors::SixBitScaleFactors<WeightType::q5_k, true> {};

template <>
struct FactorWeights<WeightType::q6_k> {
    static constexpr WeightType kType = WeightType::q6_k;
    static constexpr int kColumns = 256, kBytes = 210, kAlign = 2;

    // 128 columns are the low halves of 64 bytes, then the high ones, and from low to high pairs of bits of 32.
    __device__ static void eights(const FactorSource& from, int column, uint4 (&f)[2]) {
        using namespace factors;
        const int half = column / 128;
        const int shift = column % 128 / 64 * 4;
        const WordsFrom bytes(from.chunk);
        const uint2 high = eight_bytes(bytes, 128 + half * 32 + column % 32);
        const uint32_t codes = two_bytes(from.chunk + 192 + column / 16) ^ number(128);  // signed ones
        const __half2 scales = scale_pair(codes, number(128), twice(even_half(from.chunk + 208)));
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const uint2 low = nibbles(eight_bytes(bytes, half * 64 + 32 * i + column % 32), shift);
            const int to = 4 - shift - 2 * i;
            f[i] = scaled(numbers_of(joined(low, masked_shift(high, to, 0x30303030u))), number(32),
                          of_sub_block(scales, i));
        }
    }
};

template <>
struct FactorWeights<WeightType::q3_k> {
    static constexpr WeightType kType = WeightType::q3_k;
    static constexpr int kColumns = 256, kBytes = 110, kAlign = 2;

    // 128 columns are from low to high pairs of bits of 32 bytes, 256 bits of as many.
    __device__ static void eights(const FactorSource& from, int column, uint4 (&f)[2]) {
        using namespace factors;
        const int step = column / 64, sub = column % 64 / 16;
        const WordsFrom bytes(from.chunk);
        const uint2 third = eight_bytes(bytes, column % 32),
                    pairs = eight_bytes(bytes, 32 + step / 2 * 32 + column % 32);
        const uint32_t low = two_bytes(from.chunk + 96 + step % 2 * 4 + sub) >> (step / 2 * 4) & 0x000f000fu;
        const uint32_t high = masked_shift(two_bytes(from.chunk + 104 + sub), 4 - 2 * step, 0x00300030u);
        const __half2 scales = scale_pair(low | high | kNumber, number(32), twice(even_half(from.chunk + 108)));
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const uint2 codes = joined(masked_shift(pairs, -(step % 2 * 4 + 2 * i), 0x03030303u),
                                       masked_shift(third, 2 - (2 * step + i), 0x04040404u));
            f[i] = scaled(numbers_of(codes), number(4), of_sub_block(scales, i));
        }
    }
};

template <>
struct FactorWeights<WeightType::q2_k> {
    static constexpr WeightType kType = WeightType::q2_k;
    static constexpr int kColumns = 256, kBytes = 84, kAlign = 4;

    // As in q3_k. A byte of a scale and a minimum to 16 columns.
    __device__ static void eights(const FactorSource& from, int column, uint4 (&f)[2]) {
        using namespace factors;
        const auto word = [&](int at) { return *reinterpret_cast<const uint32_t*>(from.chunk + at); };
        const int step = column / 64;
        const int at = 16 + step / 2 * 32 + column % 32;
        const uint2 pairs = {word(at), word(at + 4)};
        const uint32_t subs = word(step * 4) >> (column % 32 / 16 * 8);
        const auto four_bits = [](uint32_t bytes) { return (bytes & 0x000f000fu) | kNumber; };
        const __half2 scales = scale_pair(four_bits(subs), kNumber, low_twice(word(80)));
        const __half2 offsets = __hneg2(scale_pair(four_bits(subs >> 4), kNumber, high_twice(word(80))));
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const uint2 codes = masked_shift(pairs, -(step % 2 * 4 + 2 * i), 0x03030303u);
            f[i] = scaled_plus(numbers_of(codes), of_sub_block(scales, i), of_sub_block(offsets, i));
        }
    }
};

template <>
struct FactorWeights<WeightType::iq4_xs> {
    static constexpr WeightType kType = WeightType::iq4_xs;
    static constexpr int kColumns = 256, kBytes = 136, kAlign = 8;

    // 32 columns are the low halves of 16 bytes, then the high ones.
    __device__ static void eights(const FactorSource& from, int column, uint4 (&f)[2]) {
        using namespace factors;
        const auto eight = [&](int at) { return *reinterpret_cast<const uint2*>(from.chunk + at); };
        const int step = column / 64;
        const uint2 head = eight(0);  // d, upper pairs of the scales' bits, their low halves
        const uint32_t low = head.y >> (8 * step), high = head.x >> (16 + 4 * step);
        const uint32_t codes = (low & 0x0000000fu) | (low << 12 & 0x000f0000u) | (high << 4 & 0x00000030u) |
                               (high << 18 & 0x00300000u) | kNumber;
        const __half2 scales = scale_pair(codes, number(32), low_twice(head.x));
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const uint2 bytes = eight(8 + (2 * step + i) * 16 + column % 16);
            f[i] = scaled(iq4_levels(bytes, column % 32 / 16 * 4), number(128), of_sub_block(scales, i));
        }
    }
};

}  // namespace octavo::cuda
