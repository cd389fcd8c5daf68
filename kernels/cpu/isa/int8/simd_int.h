// Whole-number vector operations beside simd.h, for kernels in which a lane is a weight row. The trap note of simd.h
// holds here too.
#pragma once

#include <cstddef>

#include "kernels/cpu/isa/simd.h"

namespace octavo::OCTAVO_ISA {

// kLanes rows' next 16 bytes: dword[i] holds bytes 4 i to 4 i + 3 of every row.
struct RowBytes;

#if defined(__AVX512F__)

using VecI = __m512i;
inline VecI set1_int(int32_t x) { return _mm512_set1_epi32(x); }
inline VecI load_int(const void* p) { return _mm512_loadu_si512(p); }
inline void store_int(void* p, VecI x) { _mm512_storeu_si512(p, x); }
inline VecI bit_and(VecI a, VecI b) { return _mm512_and_si512(a, b); }
inline VecI bit_or(VecI a, VecI b) { return _mm512_or_si512(a, b); }
template <int bits>
inline VecI shift_left(VecI x) {
    return _mm512_slli_epi32(x, bits);
}
template <int bits>
inline VecI shift_right(VecI x) {
    return _mm512_srli_epi32(x, bits);
}
template <int bits>
inline VecI shift_right_signed(VecI x) {
    return _mm512_srai_epi32(x, bits);
}
inline VecF to_float(VecI x) { return _mm512_cvtepi32_ps(x); }
inline VecI to_int(VecF x) { return _mm512_cvtps_epi32(x); }
// The lower half of each lane, a float16.
inline VecF low_f16(VecI x) { return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(x)); }
inline VecF bits_to_float(VecI x) { return _mm512_castsi512_ps(x); }
// The table's entry for every byte, which is below 16.
inline VecI lookup(const uint8_t (&table)[16], VecI x) {
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table))), x);
}
// sum + products of four unsigned bytes of `weights` with signed ones of `values`, in each lane
inline VecI dot4(VecI sum, VecI weights, VecI values) { return _mm512_dpbusd_epi32(sum, weights, values); }
inline void store_i8(int8_t* p, VecI x) { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtsepi32_epi8(x)); }
inline int32_t reduce_add(VecI x) { return _mm512_reduce_add_epi32(x); }

struct RowBytes {
    VecI dword[4];
};
inline RowBytes load_rows(const std::byte* p, int64_t row_bytes) {
    const auto row = [&](int r) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + r * row_bytes)); };
    VecI four[4];  // rows i, i + 4, i + 8, i + 12
    for (int i = 0; i < 4; ++i) {
        four[i] = _mm512_castsi128_si512(row(i));
        four[i] = _mm512_inserti32x4(four[i], row(i + 4), 1);
        four[i] = _mm512_inserti32x4(four[i], row(i + 8), 2);
        four[i] = _mm512_inserti32x4(four[i], row(i + 12), 3);
    }
    const VecI a = _mm512_unpacklo_epi32(four[0], four[1]);
    const VecI b = _mm512_unpacklo_epi32(four[2], four[3]);
    const VecI c = _mm512_unpackhi_epi32(four[0], four[1]);
    const VecI d = _mm512_unpackhi_epi32(four[2], four[3]);
    return {{_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b), _mm512_unpacklo_epi64(c, d),
             _mm512_unpackhi_epi64(c, d)}};
}

#elif defined(__AVX2__)

using VecI = __m256i;
inline VecI set1_int(int32_t x) { return _mm256_set1_epi32(x); }
inline VecI load_int(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
inline void store_int(void* p, VecI x) { _mm256_storeu_si256(static_cast<__m256i*>(p), x); }
inline VecI bit_and(VecI a, VecI b) { return _mm256_and_si256(a, b); }
inline VecI bit_or(VecI a, VecI b) { return _mm256_or_si256(a, b); }
template <int bits>
inline VecI shift_left(VecI x) {
    return _mm256_slli_epi32(x, bits);
}
template <int bits>
inline VecI shift_right(VecI x) {
    return _mm256_srli_epi32(x, bits);
}
template <int bits>
inline VecI shift_right_signed(VecI x) {
    return _mm256_srai_epi32(x, bits);
}
inline VecF to_float(VecI x) { return _mm256_cvtepi32_ps(x); }
inline VecI to_int(VecF x) { return _mm256_cvtps_epi32(x); }
inline VecF low_f16(VecI x) {
    const VecI half = _mm256_and_si256(x, _mm256_set1_epi32(0xffff));
    return _mm256_cvtph_ps(_mm_packus_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1)));
}
inline VecF bits_to_float(VecI x) { return _mm256_castsi256_ps(x); }
inline VecI lookup(const uint8_t (&table)[16], VecI x) {
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table))),
                               x);
}
#if defined(__AVXVNNI__)
inline VecI dot4(VecI sum, VecI weights, VecI values) { return _mm256_dpbusd_avx_epi32(sum, weights, values); }
#else
// Of weights up to 128: two products fit 16 bits.
inline VecI dot4(VecI sum, VecI weights, VecI values) {
    const VecI pairs = _mm256_maddubs_epi16(weights, values);
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}
#endif
inline void store_i8(int8_t* p, VecI x) {
    const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packs_epi16(words, words));
}
inline int32_t reduce_add(VecI x) {
    const __m128i quad = _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    const __m128i pair = _mm_add_epi32(quad, _mm_shuffle_epi32(quad, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(pair, _mm_shuffle_epi32(pair, 0xb1)));
}

struct RowBytes {
    VecI dword[4];
};
inline RowBytes load_rows(const std::byte* p, int64_t row_bytes) {
    const auto row = [&](int r) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + r * row_bytes)); };
    VecI two[4];  // rows i, i + 4
    for (int i = 0; i < 4; ++i) two[i] = _mm256_inserti128_si256(_mm256_castsi128_si256(row(i)), row(i + 4), 1);
    const VecI a = _mm256_unpacklo_epi32(two[0], two[1]);
    const VecI b = _mm256_unpacklo_epi32(two[2], two[3]);
    const VecI c = _mm256_unpackhi_epi32(two[0], two[1]);
    const VecI d = _mm256_unpackhi_epi32(two[2], two[3]);
    return {{_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b), _mm256_unpacklo_epi64(c, d),
             _mm256_unpackhi_epi64(c, d)}};
}

#else  // any machine

using VecI __attribute__((vector_size(16))) = int32_t;
using VecU __attribute__((vector_size(16))) = uint32_t;
inline VecI set1_int(int32_t x) { return VecI{x, x, x, x}; }
inline VecI load_int(const void* p) {
    VecI x;
    __builtin_memcpy(&x, p, sizeof x);
    return x;
}
inline void store_int(void* p, VecI x) { __builtin_memcpy(p, &x, sizeof x); }
inline VecI bit_and(VecI a, VecI b) { return a & b; }
inline VecI bit_or(VecI a, VecI b) { return a | b; }
template <int bits>
inline VecI shift_left(VecI x) {
    return (VecI)((VecU)x << bits);
}
template <int bits>
inline VecI shift_right(VecI x) {
    return (VecI)((VecU)x >> bits);
}
template <int bits>
inline VecI shift_right_signed(VecI x) {
    return x >> bits;
}
inline VecF to_float(VecI x) { return __builtin_convertvector(x, VecF); }
// Of whole numbers that fit; anything else gives some number.
inline VecI to_int(VecF x) {
    VecI whole;
    for (int i = 0; i < kLanes; ++i) whole[i] = x[i] > -1e6f && x[i] < 1e6f ? static_cast<int32_t>(x[i]) : 0;
    return whole;
}
inline VecF low_f16(VecI x) {
    VecF values;
    for (int i = 0; i < kLanes; ++i) values[i] = f16_lane(static_cast<uint16_t>(x[i]));
    return values;
}
inline VecF bits_to_float(VecI x) { return (VecF)x; }
inline VecI lookup(const uint8_t (&table)[16], VecI x) {
    uint8_t bytes[sizeof x];
    __builtin_memcpy(bytes, &x, sizeof x);
    for (uint8_t& byte : bytes) byte = table[byte & 15];
    return load_int(bytes);
}
inline VecI dot4(VecI sum, VecI weights, VecI values) {
    for (int i = 0; i < kLanes; ++i) {
        uint8_t w[4];
        int8_t v[4];
        const int32_t four_weights = weights[i];
        const int32_t four_values = values[i];
        __builtin_memcpy(w, &four_weights, 4);
        __builtin_memcpy(v, &four_values, 4);
        sum[i] += w[0] * v[0] + w[1] * v[1] + w[2] * v[2] + w[3] * v[3];
    }
    return sum;
}
inline void store_i8(int8_t* p, VecI x) {
    for (int i = 0; i < kLanes; ++i) p[i] = static_cast<int8_t>(x[i] < -128 ? -128 : x[i] > 127 ? 127 : x[i]);
}
inline int32_t reduce_add(VecI x) { return x[0] + x[1] + x[2] + x[3]; }

struct RowBytes {
    VecI dword[4];
};
inline RowBytes load_rows(const std::byte* p, int64_t row_bytes) {
    RowBytes bytes;
    for (int r = 0; r < kLanes; ++r) {
        const VecI row = load_int(p + r * row_bytes);
        for (int i = 0; i < 4; ++i) bytes.dword[i][r] = row[i];
    }
    return bytes;
}

#endif

// dot4 of weights that may be any byte.
inline VecI dot4_wide(VecI sum, VecI weights, VecI values) {
#if defined(__AVX2__) && !defined(__AVXVNNI__) && !defined(__AVX512F__)
    const VecI half = bit_and(shift_right<1>(weights), set1_int(0x7f7f7f7f));
    return dot4(dot4(sum, half, values), _mm256_sub_epi8(weights, half), values);
#else
    return dot4(sum, weights, values);
#endif
}
// The lowest four bits of each lane, one to a byte.
inline VecI four_bits_to_bytes(VecI x) {
    const VecI bits = bit_and(x, set1_int(15));
    const VecI spread = bit_or(bit_or(bits, shift_left<7>(bits)), bit_or(shift_left<14>(bits), shift_left<21>(bits)));
    return bit_and(spread, set1_int(0x01010101));
}
// Four consecutive activation codes in every lane.
inline VecI broadcast4(const int8_t* p) {
    int32_t four;
    __builtin_memcpy(&four, p, sizeof four);
    return set1_int(four);
}
// Byte `index` of each lane as a number.
template <int index>
inline VecF byte_value(VecI x) {
    if constexpr (index == 3)
        return to_float(shift_right<24>(x));
    else
        return to_float(bit_and(shift_right<8 * index>(x), set1_int(0xff)));
}
template <int index>
inline VecF signed_byte_value(VecI x) {
    return to_float(shift_right_signed<24>(shift_left<24 - 8 * index>(x)));
}
inline VecF high_f16(VecI x) { return low_f16(shift_right<16>(x)); }

}  // namespace octavo::OCTAVO_ISA
