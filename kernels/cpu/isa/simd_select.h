// Vector operations beyond simd.h that encoders need: choices by comparison, and whole numbers to bytes.
#pragma once

#include "kernels/cpu/isa/simd.h"

namespace octavo::OCTAVO_ISA {

#if defined(__AVX512F__)

inline VecF abs(VecF x) { return _mm512_abs_ps(x); }
inline VecF sqrt(VecF x) { return _mm512_sqrt_ps(x); }
// a >= b ? x : y, lane by lane; y where one is NaN
inline VecF select_ge(VecF a, VecF b, VecF x, VecF y) {
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_GE_OQ), y, x);
}
inline VecF select_eq(VecF a, VecF b, VecF x, VecF y) {
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ), y, x);
}
// whole numbers 0..255
inline void store_bytes(uint8_t* p, VecF x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(_mm512_cvttps_epi32(x)));
}

#elif defined(__AVX2__)

inline VecF abs(VecF x) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x); }
inline VecF sqrt(VecF x) { return _mm256_sqrt_ps(x); }
inline VecF select_ge(VecF a, VecF b, VecF x, VecF y) {
    return _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, b, _CMP_GE_OQ));
}
inline VecF select_eq(VecF a, VecF b, VecF x, VecF y) {
    return _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, b, _CMP_EQ_OQ));
}
inline void store_bytes(uint8_t* p, VecF x) {
    const __m256i whole = _mm256_cvttps_epi32(x);
    const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256(whole, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packus_epi16(words, words));
}

#else

using VecBits __attribute__((vector_size(16))) = uint32_t;
inline VecF abs(VecF x) {
    VecBits bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    bits &= 0x7fffffffu;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}
inline VecF sqrt(VecF x) {
    for (int i = 0; i < kLanes; ++i) x[i] = __builtin_sqrtf(x[i]);
    return x;
}
inline VecF select_ge(VecF a, VecF b, VecF x, VecF y) { return a >= b ? x : y; }
inline VecF select_eq(VecF a, VecF b, VecF x, VecF y) { return a == b ? x : y; }
inline void store_bytes(uint8_t* p, VecF x) {
    for (int i = 0; i < kLanes; ++i) p[i] = static_cast<uint8_t>(static_cast<int>(x[i]));
}

#endif

}  // namespace octavo::OCTAVO_ISA
