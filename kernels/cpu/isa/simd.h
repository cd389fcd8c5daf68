// The few vector operations that the fast CPU kernels are written in. Each file of kernels/cpu/isa is compiled once per
// instruction set (OCTAVO_ISA names the namespace: generic, avx2, avx512), so kernels are written once against `VecF`.
//
// Trap: code in this folder is compiled with instructions the machine may lack. Nothing here may instantiate inline
// functions shared with other files (std:: containers and algorithms, project helpers): the linker keeps one copy of
// those, perhaps the one with AVX-512 in it. Only intrinsics, plain loops, and functions in OCTAVO_ISA.
#pragma once

#include <cstdint>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace octavo::OCTAVO_ISA {

// Four floats, whatever kLanes is.
using Quad __attribute__((vector_size(16))) = float;

#if defined(__AVX512F__)

inline constexpr int kLanes = 16;
using VecF = __m512;
inline VecF zero() { return _mm512_setzero_ps(); }
inline VecF set1(float x) { return _mm512_set1_ps(x); }
inline VecF load(const float* p) { return _mm512_loadu_ps(p); }
inline void store(float* p, VecF x) { _mm512_storeu_ps(p, x); }
inline VecF add(VecF a, VecF b) { return _mm512_add_ps(a, b); }
inline VecF sub(VecF a, VecF b) { return _mm512_sub_ps(a, b); }
inline VecF mul(VecF a, VecF b) { return _mm512_mul_ps(a, b); }
inline VecF div(VecF a, VecF b) { return _mm512_div_ps(a, b); }
inline VecF max(VecF a, VecF b) { return _mm512_max_ps(a, b); }
inline VecF min(VecF a, VecF b) { return _mm512_min_ps(a, b); }
inline VecF fma(VecF a, VecF b, VecF c) { return _mm512_fmadd_ps(a, b, c); }  // a * b + c
inline float reduce_add(VecF x) { return _mm512_reduce_add_ps(x); }
inline float reduce_max(VecF x) { return _mm512_reduce_max_ps(x); }
// {sum of a, sum of b, sum of c, sum of d}
inline Quad reduce_add4(VecF a, VecF b, VecF c, VecF d) {
    const VecF ab = add(_mm512_mask_blend_ps(0xcccc, a, b), _mm512_shuffle_ps(a, b, _MM_SHUFFLE(1, 0, 3, 2)));
    const VecF cd = add(_mm512_mask_blend_ps(0xcccc, c, d), _mm512_shuffle_ps(c, d, _MM_SHUFFLE(1, 0, 3, 2)));
    const VecF abcd =
        add(_mm512_shuffle_ps(ab, cd, _MM_SHUFFLE(2, 0, 2, 0)), _mm512_shuffle_ps(ab, cd, _MM_SHUFFLE(3, 1, 3, 1)));
    const __m256 halves = _mm256_add_ps(_mm512_castps512_ps256(abcd), _mm512_extractf32x8_ps(abcd, 1));
    return _mm_add_ps(_mm256_castps256_ps128(halves), _mm256_extractf128_ps(halves, 1));
}
inline VecF load_f16(const uint16_t* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
inline VecF broadcast_f16(uint16_t half) { return _mm512_cvtph_ps(_mm256_set1_epi16(static_cast<int16_t>(half))); }
inline VecF load_bf16(const uint16_t* p) {
    const __m256i half = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
}
inline VecF load_i8(const int8_t* p) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
}
// Two vectors of E4M3, the first or the second of them. Moved to the places of a half-precision number its bits are a
// 256th of it, subnormal or not; NaN alone is carried into the highest bit of the exponent by a step more.
template <int which>
inline VecF load_e4m3(const uint8_t* p) {
    const __m512i word = _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
    const __m512i high = _mm512_set1_epi16(0x4000);
    const __m512i half = _mm512_andnot_si512(high, _mm512_slli_epi16(word, 7));
    const __m512i step = _mm512_add_epi16(half, _mm512_set1_epi16(0x80));
    const __m512i halves = _mm512_ternarylogic_epi64(half, step, high, 0xf8);  // half | (step & high)
    return _mm512_mul_ps(_mm512_cvtph_ps(_mm512_extracti64x4_epi64(halves, which)), _mm512_set1_ps(256));
}
inline void store_f16(uint16_t* p, VecF x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}
inline VecF round_nearest(VecF x) { return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT); }
// x * 2^n for whole n
inline VecF scale_by_power(VecF x, VecF n) { return _mm512_scalef_ps(x, n); }

#elif defined(__AVX2__)

inline constexpr int kLanes = 8;
using VecF = __m256;
inline VecF zero() { return _mm256_setzero_ps(); }
inline VecF set1(float x) { return _mm256_set1_ps(x); }
inline VecF load(const float* p) { return _mm256_loadu_ps(p); }
inline void store(float* p, VecF x) { _mm256_storeu_ps(p, x); }
inline VecF add(VecF a, VecF b) { return _mm256_add_ps(a, b); }
inline VecF sub(VecF a, VecF b) { return _mm256_sub_ps(a, b); }
inline VecF mul(VecF a, VecF b) { return _mm256_mul_ps(a, b); }
inline VecF div(VecF a, VecF b) { return _mm256_div_ps(a, b); }
inline VecF max(VecF a, VecF b) { return _mm256_max_ps(a, b); }
inline VecF min(VecF a, VecF b) { return _mm256_min_ps(a, b); }
inline VecF fma(VecF a, VecF b, VecF c) { return _mm256_fmadd_ps(a, b, c); }
inline float reduce_add(VecF x) {
    const __m128 quad = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    const __m128 pair = _mm_add_ps(quad, _mm_movehl_ps(quad, quad));
    return _mm_cvtss_f32(_mm_add_ss(pair, _mm_shuffle_ps(pair, pair, 1)));
}
// {sum of a, sum of b, sum of c, sum of d}
inline Quad reduce_add4(VecF a, VecF b, VecF c, VecF d) {
    const VecF ab = add(_mm256_blend_ps(a, b, 0xcc), _mm256_shuffle_ps(a, b, _MM_SHUFFLE(1, 0, 3, 2)));
    const VecF cd = add(_mm256_blend_ps(c, d, 0xcc), _mm256_shuffle_ps(c, d, _MM_SHUFFLE(1, 0, 3, 2)));
    const VecF abcd =
        add(_mm256_shuffle_ps(ab, cd, _MM_SHUFFLE(2, 0, 2, 0)), _mm256_shuffle_ps(ab, cd, _MM_SHUFFLE(3, 1, 3, 1)));
    return _mm_add_ps(_mm256_castps256_ps128(abcd), _mm256_extractf128_ps(abcd, 1));
}
inline float reduce_max(VecF x) {
    const __m128 quad = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    const __m128 pair = _mm_max_ps(quad, _mm_movehl_ps(quad, quad));
    return _mm_cvtss_f32(_mm_max_ss(pair, _mm_shuffle_ps(pair, pair, 1)));
}
inline VecF load_f16(const uint16_t* p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
inline VecF broadcast_f16(uint16_t half) { return _mm256_cvtph_ps(_mm_set1_epi16(static_cast<int16_t>(half))); }
inline VecF load_bf16(const uint16_t* p) {
    const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16));
}
inline VecF load_i8(const int8_t* p) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
}
// Two vectors of E4M3, the first or the second of them. Moved to the places of a half-precision number its bits are a
// 256th of it, subnormal or not; NaN alone is carried into the highest bit of the exponent by a step more.
template <int which>
inline VecF load_e4m3(const uint8_t* p) {
    const __m256i word = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
    const __m256i high = _mm256_set1_epi16(0x4000);
    const __m256i half = _mm256_andnot_si256(high, _mm256_slli_epi16(word, 7));
    const __m256i step = _mm256_add_epi16(half, _mm256_set1_epi16(0x80));
    const __m256i halves = _mm256_or_si256(half, _mm256_and_si256(step, high));
    return _mm256_mul_ps(_mm256_cvtph_ps(_mm256_extracti128_si256(halves, which)), _mm256_set1_ps(256));
}
inline void store_f16(uint16_t* p, VecF x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}
inline VecF round_nearest(VecF x) { return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
// n in [-252, 254]: two factors, so that neither leaves the normal range
inline VecF scale_by_power(VecF x, VecF n) {
    const __m256i whole = _mm256_cvtps_epi32(n);
    const __m256i first = _mm256_srai_epi32(whole, 1);
    const __m256i second = _mm256_sub_epi32(whole, first);
    const __m256i bias = _mm256_set1_epi32(127);
    const __m256 a = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(first, bias), 23));
    const __m256 b = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(second, bias), 23));
    return _mm256_mul_ps(_mm256_mul_ps(x, a), b);
}

#else  // any machine: four lanes in the compiler's own vector type

inline constexpr int kLanes = 4;
using VecF = Quad;
inline VecF zero() { return VecF{0, 0, 0, 0}; }
inline VecF set1(float x) { return VecF{x, x, x, x}; }
inline VecF load(const float* p) {
    VecF x;
    __builtin_memcpy(&x, p, sizeof x);
    return x;
}
inline void store(float* p, VecF x) { __builtin_memcpy(p, &x, sizeof x); }
inline VecF add(VecF a, VecF b) { return a + b; }
inline VecF sub(VecF a, VecF b) { return a - b; }
inline VecF mul(VecF a, VecF b) { return a * b; }
inline VecF div(VecF a, VecF b) { return a / b; }
inline VecF max(VecF a, VecF b) { return a > b ? a : b; }
inline VecF min(VecF a, VecF b) { return a < b ? a : b; }
inline VecF fma(VecF a, VecF b, VecF c) { return a * b + c; }
inline float reduce_add(VecF x) { return (x[0] + x[2]) + (x[1] + x[3]); }
// {sum of a, sum of b, sum of c, sum of d}
inline Quad reduce_add4(VecF a, VecF b, VecF c, VecF d) {
    return Quad{reduce_add(a), reduce_add(b), reduce_add(c), reduce_add(d)};
}
inline float reduce_max(VecF x) {
    const float a = x[0] > x[2] ? x[0] : x[2];
    const float b = x[1] > x[3] ? x[1] : x[3];
    return a > b ? a : b;
}
float f16_lane(uint16_t half);        // simd_generic.cpp
uint16_t f16_from_lane(float value);  // simd_generic.cpp
inline VecF load_f16(const uint16_t* p) { return VecF{f16_lane(p[0]), f16_lane(p[1]), f16_lane(p[2]), f16_lane(p[3])}; }
inline VecF broadcast_f16(uint16_t half) { return set1(f16_lane(half)); }
inline VecF load_bf16(const uint16_t* p) {
    const uint32_t bits[4] = {uint32_t{p[0]} << 16, uint32_t{p[1]} << 16, uint32_t{p[2]} << 16, uint32_t{p[3]} << 16};
    VecF x;
    __builtin_memcpy(&x, bits, sizeof x);
    return x;
}
inline VecF load_i8(const int8_t* p) {
    return VecF{static_cast<float>(p[0]), static_cast<float>(p[1]), static_cast<float>(p[2]), static_cast<float>(p[3])};
}
// Two vectors of E4M3, the first or the second of them. Moved to the places of a half-precision number its bits are a
// 256th of it, subnormal or not; NaN alone is carried into the highest bit of the exponent by a step more.
template <int which>
inline VecF load_e4m3(const uint8_t* p) {
    VecF values;
    for (int i = 0; i < kLanes; ++i) {
        const uint32_t byte = p[which * kLanes + i];
        const uint32_t half = (byte & 0x80u) << 8 | (byte & 0x7fu) << 7;
        values[i] = 256 * f16_lane(static_cast<uint16_t>(half | ((half + 0x80u) & 0x4000u)));
    }
    return values;
}
inline void store_f16(uint16_t* p, VecF x) {
    for (int i = 0; i < kLanes; ++i) p[i] = f16_from_lane(x[i]);
}
// Adding and taking away 1.5 * 2^23 leaves the nearest whole number, for |x| < 2^22.
inline VecF round_nearest(VecF x) {
    const VecF magic = set1(12582912.0f);
    return (x + magic) - magic;
}
inline VecF scale_by_power(VecF x, VecF n) {
    for (int i = 0; i < kLanes; ++i) x[i] = __builtin_ldexpf(x[i], static_cast<int>(n[i]));
    return x;
}

#endif

inline Quad load_quad(const float* p) {
    Quad x;
    __builtin_memcpy(&x, p, sizeof x);
    return x;
}
inline void store_quad(float* p, Quad x) { __builtin_memcpy(p, &x, sizeof x); }

// The first n < kLanes values at p, then zeros.
inline VecF load_first(const float* p, int n) {
    float values[kLanes] = {};
    for (int i = 0; i < n; ++i) values[i] = p[i];
    return load(values);
}
inline void store_first(float* p, VecF x, int n) {
    float values[kLanes];
    store(values, x);
    for (int i = 0; i < n; ++i) p[i] = values[i];
}

// e^x to about 1 ulp on [-87, 88]; below that 0 or a subnormal, above it clamped.
inline VecF exp(VecF x) {
    const VecF clamped = max(min(x, set1(88.0f)), set1(-100.0f));
    const VecF n = round_nearest(mul(clamped, set1(1.44269504f)));
    VecF r = fma(n, set1(-0.693359375f), clamped);  // ln 2 in two parts: the first product is exact
    r = fma(n, set1(2.12194440e-4f), r);
    VecF p = set1(1.9875691500e-4f);  // Cephes single-precision polynomial
    p = fma(p, r, set1(1.3981999507e-3f));
    p = fma(p, r, set1(8.3334519073e-3f));
    p = fma(p, r, set1(4.1665795894e-2f));
    p = fma(p, r, set1(1.6666665459e-1f));
    p = fma(p, r, set1(5.0000001201e-1f));
    const VecF tail = fma(mul(p, r), r, r);
    return scale_by_power(add(tail, set1(1.0f)), n);
}

inline VecF sigmoid(VecF x) { return div(set1(1.0f), add(set1(1.0f), exp(sub(zero(), x)))); }
inline VecF silu(VecF x) { return mul(x, sigmoid(x)); }

}  // namespace octavo::OCTAVO_ISA
