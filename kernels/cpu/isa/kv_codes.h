// How the codes of each KV format become float32, bit for bit as the codecs that define them (kernels/kv_codec.h). A
// format has
//   factor(scale)                what its scale is worth to a block: the scale in all lanes, or the scaled levels
//   values(factor, row, dim, i)  the values of a row at [i, i + kLanes)
//   code(row, i)                 a single value before the scale, where a row may end within a vector
// A value is one float32 product, scale times code, so products may be taken before the code is looked up, and a code
// may be smaller by a power of two that the factor makes up for.
#pragma once

#include <cstddef>

#include "kernels/cpu/isa/simd.h"
#include "kernels/kv_codec.h"

namespace octavo::OCTAVO_ISA {

inline uint32_t byte_at(const std::byte* p, int i) { return static_cast<uint8_t>(p[i]); }
template <class T>
inline T load_as(const std::byte* p) {
    T value;
    __builtin_memcpy(&value, p, sizeof value);
    return value;
}
inline uint32_t nibble_at(const std::byte* row, int i) { return byte_at(row, i / 2) >> (i % 2 * 4) & 15u; }
inline uint32_t pair_at(const std::byte* row, int i) { return byte_at(row, i / 4) >> (i % 4 * 2) & 3u; }

// float16 scales as float32.
inline void widen_scales(const uint16_t* scales, int count, float* out) {
    int i = 0;
#if defined(__AVX2__)
    for (; i + 8 <= count; i += 8) {
        _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(scales + i))));
    }
    for (; i < count; ++i) out[i] = _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(scales[i])));
#else
    for (; i < count; ++i) out[i] = f16_lane(scales[i]);
#endif
}

// Copies, so that no symbol is shared with code compiled for another machine.
inline constexpr float kTwoBitLevels[4] = {kQ2Levels[0], kQ2Levels[1], kQ2Levels[2], kQ2Levels[3]};
inline constexpr float kFourBitLevels[16] = {kQ4NlLevels[0],  kQ4NlLevels[1],  kQ4NlLevels[2],  kQ4NlLevels[3],
                                             kQ4NlLevels[4],  kQ4NlLevels[5],  kQ4NlLevels[6],  kQ4NlLevels[7],
                                             kQ4NlLevels[8],  kQ4NlLevels[9],  kQ4NlLevels[10], kQ4NlLevels[11],
                                             kQ4NlLevels[12], kQ4NlLevels[13], kQ4NlLevels[14], kQ4NlLevels[15]};
// The values of nibbles in two's complement.
inline constexpr float kSignedNibbles[16] = {0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1};

struct SignedBytes {  // q8_0, q8r
    static float code(const std::byte* row, int i) { return static_cast<float>(static_cast<int8_t>(row[i])); }
    static VecF factor(VecF scale) { return scale; }
    static VecF values(VecF factor, const std::byte* row, int, int i) {
        return mul(factor, load_i8(reinterpret_cast<const int8_t*>(row + i)));
    }
};

template <const float (&levels)[16]>
struct Nibbles {
    static float code(const std::byte* row, int i) { return levels[nibble_at(row, i)]; }
#if defined(__AVX512F__)
    static VecF factor(VecF scale) { return mul(scale, load(levels)); }
    static VecF values(VecF factor, const std::byte* row, int, int i) {
        const __m512i spread = _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0);
        const __m512i shift = _mm512_set_epi32(4, 0, 4, 0, 4, 0, 4, 0, 4, 0, 4, 0, 4, 0, 4, 0);
        const __m512i bytes = _mm512_shuffle_epi8(_mm512_set1_epi64(load_as<int64_t>(row + i / 2)), spread);
        return _mm512_permutexvar_ps(_mm512_srlv_epi32(bytes, shift), factor);  // looks at four bits of each lane
    }
#else
    static VecF factor(VecF scale) { return scale; }
    static VecF values(VecF factor, const std::byte* row, int, int i) { return mul(factor, codes(row, i)); }
    static VecF codes(const std::byte* row, int i) {
#if defined(__AVX2__)
        const __m256i all = _mm256_set1_epi32(load_as<int32_t>(row + i / 2));
        const __m256i code = _mm256_srlv_epi32(all, _mm256_set_epi32(28, 24, 20, 16, 12, 8, 4, 0));
        const VecF low = _mm256_permutevar8x32_ps(load(levels), code);  // looks at three bits
        const VecF high = _mm256_permutevar8x32_ps(load(levels + 8), code);
        return _mm256_blendv_ps(low, high, _mm256_castsi256_ps(_mm256_slli_epi32(code, 28)));
#else
        return VecF{code(row, i), code(row, i + 1), code(row, i + 2), code(row, i + 3)};
#endif
    }
#endif
};
#if defined(__AVX2__) && !defined(__AVX512F__)
// Whole numbers need no table: the nibble at the top of a lane is 2^28 of its value, sign and all.
struct SignedNibbles {  // q4_0, q4r
    static float code(const std::byte* row, int i) { return kSignedNibbles[nibble_at(row, i)]; }
    static VecF factor(VecF scale) { return mul(scale, set1(0x1p-28f)); }
    static VecF values(VecF factor, const std::byte* row, int, int i) {
        const __m256i all = _mm256_set1_epi32(load_as<int32_t>(row + i / 2));
        const __m256i top = _mm256_sllv_epi32(all, _mm256_set_epi32(0, 4, 8, 12, 16, 20, 24, 28));
        return mul(factor, _mm256_cvtepi32_ps(_mm256_and_si256(top, _mm256_set1_epi32(static_cast<int>(0xf0000000u)))));
    }
};
#else
using SignedNibbles = Nibbles<kSignedNibbles>;  // q4_0, q4r
#endif
using LevelNibbles = Nibbles<kFourBitLevels>;  // q4_nl

// e4m3 has float16's layout with four exponent bits: as float16 bits it is 2^-8 of its value.
struct E4m3 {  // fp8_e4m3
    static VecF factor(VecF scale) { return mul(scale, set1(256)); }
    static VecF values(VecF factor, const std::byte* row, int, int i) { return mul(factor, codes(row, i)); }
#if defined(__AVX512F__)
    static VecF codes(const std::byte* row, int i) {
        const __m256i wide = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(row + i)));
        return _mm512_cvtph_ps(_mm256_and_si256(_mm256_slli_epi16(wide, 7), _mm256_set1_epi16(-0x4080)));
    }
#elif defined(__AVX2__)
    static VecF codes(const std::byte* row, int i) {
        const __m128i wide = _mm_cvtepi8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(row + i)));
        return _mm256_cvtph_ps(_mm_and_si128(_mm_slli_epi16(wide, 7), _mm_set1_epi16(-0x4080)));
    }
#else
    static VecF codes(const std::byte* row, int i) {
        uint16_t halves[kLanes];
        for (int lane = 0; lane < kLanes; ++lane) {
            const uint32_t code = byte_at(row, i + lane);
            halves[lane] = static_cast<uint16_t>((code & 0x80u) << 8 | (code & 0x7fu) << 7);
        }
        return load_f16(halves);
    }
#endif
};

// A row is all low planes (dim / 2 bytes), then all high planes (dim / 4 bytes). The six bits of a code are brought to
// the top of a lane, and shifted down with their sign.
struct SixBitPlanes {  // q6_0
    static VecF factor(VecF scale) { return scale; }
    static VecF values(VecF factor, const std::byte* row, int dim, int i) { return mul(factor, codes(row, dim, i)); }
#if defined(__AVX512F__)
    static VecF codes(const std::byte* row, int dim, int i) {
        const __m512i spread = _mm512_maskz_mov_epi8(0x1111111111111111u,
                                                     _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0));
        const __m512i low_shift = _mm512_set_epi32(22, 26, 22, 26, 22, 26, 22, 26, 22, 26, 22, 26, 22, 26, 22, 26);
        const __m512i high_shift = _mm512_set_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
        const __m512i bytes = _mm512_shuffle_epi8(_mm512_set1_epi64(load_as<int64_t>(row + i / 2)), spread);
        const __m512i pairs = _mm512_set1_epi32(load_as<int32_t>(row + dim / 2 + i / 4));
        const __m512i low = _mm512_sllv_epi32(bytes, low_shift);
        const __m512i high = _mm512_sllv_epi32(pairs, high_shift);
        const __m512i top_two = _mm512_set1_epi32(static_cast<int>(0xc0000000u));
        const __m512i code = _mm512_ternarylogic_epi32(top_two, high, low, 0xca);  // top_two ? high : low
        return _mm512_cvtepi32_ps(_mm512_srai_epi32(code, 26));
    }
#elif defined(__AVX2__)
    static VecF codes(const std::byte* row, int dim, int i) {
        const __m256i nibbles = _mm256_set1_epi32(load_as<int32_t>(row + i / 2));
        const __m256i pairs = _mm256_set1_epi32(load_as<uint16_t>(row + dim / 2 + i / 4));
        const __m256i low = _mm256_sllv_epi32(nibbles, _mm256_set_epi32(0, 4, 8, 12, 16, 20, 24, 28));
        const __m256i high = _mm256_sllv_epi32(pairs, _mm256_set_epi32(16, 18, 20, 22, 24, 26, 28, 30));
        const __m256i top_two = _mm256_set1_epi32(static_cast<int>(0xc0000000u));
        const __m256i code = _mm256_or_si256(_mm256_and_si256(high, top_two), _mm256_srli_epi32(low, 2));
        return _mm256_cvtepi32_ps(_mm256_srai_epi32(code, 26));
    }
#else
    static float code(const std::byte* row, int dim, int i) {
        const uint32_t bits = nibble_at(row, i) | pair_at(row + dim / 2, i) << 4;
        return static_cast<float>(static_cast<int32_t>(bits ^ 0x20u) - 0x20);
    }
    static VecF codes(const std::byte* row, int dim, int i) {
        return VecF{code(row, dim, i), code(row, dim, i + 1), code(row, dim, i + 2), code(row, dim, i + 3)};
    }
#endif
};

// Four codes in three bytes, biased by 32.
struct SixBitTriples {  // q6r
    static VecF factor(VecF scale) { return scale; }
    static VecF values(VecF factor, const std::byte* row, int, int i) { return mul(factor, codes(row, i)); }
    static float code(const std::byte* row, int i) {
        const std::byte* triple = row + i / 4 * 3;
        const uint32_t bits = byte_at(triple, 0) | byte_at(triple, 1) << 8 | byte_at(triple, 2) << 16;
        return static_cast<float>(static_cast<int32_t>(bits >> (i % 4 * 6) & 63u) - 32);
    }
#if defined(__AVX512F__)
    static VecF codes(const std::byte* row, int i) {
        constexpr int kA = 0x020100, kB = 0x050403, kC = 0x080706, kD = 0x0b0a09;
        const __m512i index = _mm512_set_epi32(kD, kD, kD, kD, kC, kC, kC, kC, kB, kB, kB, kB, kA, kA, kA, kA);
        const __m512i shift = _mm512_set_epi32(18, 12, 6, 0, 18, 12, 6, 0, 18, 12, 6, 0, 18, 12, 6, 0);
        const __m128i bytes = _mm_maskz_loadu_epi8(0x0fff, row + i / 4 * 3);
        const __m512i lanes = _mm512_shuffle_epi8(_mm512_broadcast_i32x4(bytes), index);
        const __m512i code = _mm512_and_si512(_mm512_srlv_epi32(lanes, shift), _mm512_set1_epi32(63));
        return sub(_mm512_cvtepi32_ps(code), set1(32));
    }
#elif defined(__AVX2__)
    static VecF codes(const std::byte* row, int i) {
        const __m256i index =
            _mm256_set_epi32(0x050403, 0x050403, 0x050403, 0x050403, 0x020100, 0x020100, 0x020100, 0x020100);
        const __m256i shift = _mm256_set_epi32(18, 12, 6, 0, 18, 12, 6, 0);
        const std::byte* triples = row + i / 4 * 3;
        const uint64_t bytes = load_as<uint32_t>(triples) | static_cast<uint64_t>(load_as<uint16_t>(triples + 4)) << 32;
        const __m256i lanes = _mm256_shuffle_epi8(_mm256_set1_epi64x(static_cast<int64_t>(bytes)), index);
        const __m256i code = _mm256_and_si256(_mm256_srlv_epi32(lanes, shift), _mm256_set1_epi32(63));
        return sub(_mm256_cvtepi32_ps(code), set1(32));
    }
#else
    static VecF codes(const std::byte* row, int i) {
        return VecF{code(row, i), code(row, i + 1), code(row, i + 2), code(row, i + 3)};
    }
#endif
};

// Two-bit codes: levels in all groups of four lanes; only the lowest two bits of a code count.
#if defined(__AVX512F__)
inline VecF pair_levels() { return _mm512_broadcast_f32x4(_mm_loadu_ps(kTwoBitLevels)); }
inline VecF look_up_pairs(VecF levels, __m512i codes) { return _mm512_permutevar_ps(levels, codes); }
#elif defined(__AVX2__)
inline VecF pair_levels() { return _mm256_broadcast_ps(reinterpret_cast<const __m128*>(kTwoBitLevels)); }
inline VecF look_up_pairs(VecF levels, __m256i codes) { return _mm256_permutevar_ps(levels, codes); }
#else
inline VecF pair_levels() { return load(kTwoBitLevels); }
#endif

struct LevelPairs {  // q2t
    static VecF factor(VecF scale) { return mul(scale, pair_levels()); }
    static VecF values(VecF factor, const std::byte* row, int, int i) {
#if defined(__AVX512F__)
        const __m512i shift = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
        return look_up_pairs(factor, _mm512_srlv_epi32(_mm512_set1_epi32(load_as<int32_t>(row + i / 4)), shift));
#elif defined(__AVX2__)
        const __m256i shift = _mm256_set_epi32(14, 12, 10, 8, 6, 4, 2, 0);
        return look_up_pairs(factor, _mm256_srlv_epi32(_mm256_set1_epi32(load_as<uint16_t>(row + i / 4)), shift));
#else
        return VecF{factor[pair_at(row, i)], factor[pair_at(row, i + 1)], factor[pair_at(row, i + 2)],
                    factor[pair_at(row, i + 3)]};
#endif
    }
};

// kLanes channels of a per-channel group, of 8 bytes each: cell i of the group at bits 2i of the eight bytes.
struct ChannelCodes {
#if defined(__AVX512F__)
    __m512i half[2];  // cells 0..15, cells 16..31
    explicit ChannelCodes(const std::byte* p) {
        const __m512i a = _mm512_loadu_si512(p);
        const __m512i b = _mm512_loadu_si512(p + 64);
        const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
        half[0] = _mm512_permutex2var_epi32(a, even, b);
        half[1] = _mm512_permutex2var_epi32(a, _mm512_add_epi32(even, _mm512_set1_epi32(1)), b);
    }
    VecF levels(int cell) const {
        const __m512i code = _mm512_srl_epi32(half[cell / 16], _mm_cvtsi32_si128(cell % 16 * 2));
        return look_up_pairs(pair_levels(), code);
    }
#elif defined(__AVX2__)
    __m256i half[2];
    explicit ChannelCodes(const std::byte* p) {
        const __m256i order = _mm256_set_epi32(7, 5, 3, 1, 6, 4, 2, 0);  // low words, then high words
        const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
        const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 32));
        const __m256i a_sorted = _mm256_permutevar8x32_epi32(a, order);
        const __m256i b_sorted = _mm256_permutevar8x32_epi32(b, order);
        half[0] = _mm256_permute2x128_si256(a_sorted, b_sorted, 0x20);
        half[1] = _mm256_permute2x128_si256(a_sorted, b_sorted, 0x31);
    }
    VecF levels(int cell) const {
        const __m256i code = _mm256_srl_epi32(half[cell / 16], _mm_cvtsi32_si128(cell % 16 * 2));
        return look_up_pairs(pair_levels(), code);
    }
#else
    const std::byte* channels;
    explicit ChannelCodes(const std::byte* p) : channels(p) {}
    VecF levels(int cell) const {
        float x[kLanes];
        for (int lane = 0; lane < kLanes; ++lane) x[lane] = kTwoBitLevels[pair_at(channels + 8 * lane, cell)];
        return load(x);
    }
#endif
};

}  // namespace octavo::OCTAVO_ISA
