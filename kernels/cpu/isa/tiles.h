// Register-blocked products of small row-major tiles, shared by attention and the chunked delta rule. Widths are whole
// vectors. A sum is taken in one order whatever the block sizes, so a row's result does not depend on its neighbours.
#pragma once

#include "kernels/cpu/isa/simd.h"

namespace octavo::OCTAVO_ISA {

// Values of a raw row as they lie in memory; load_values gives kLanes of them as float32.
struct F16 {
    uint16_t bits;
};
struct Bf16 {
    uint16_t bits;
};
inline VecF load_values(const float* p) { return load(p); }
inline VecF load_values(const F16* p) { return load_f16(&p->bits); }
inline VecF load_values(const Bf16* p) { return load_bf16(&p->bits); }

// The first `count` of kLanes values, the rest zero; nothing beyond them is touched.
inline VecF load_part(const float* p, int count) { return load_first(p, count); }
template <class T>
inline VecF load_part(const T* p, int count) {
    T part[kLanes] = {};
    for (int i = 0; i < count; ++i) part[i] = p[i];
    return load_values(part);
}
// Vector accumulators that fit the registers beside what they are fed from.
#if defined(__AVX512F__)
inline constexpr int kAccumulators = 16;
#else
inline constexpr int kAccumulators = 8;
#endif
inline constexpr int kDotRows = kAccumulators / 4;

// out[r][i] = a[r] . b_row[i] for R rows of a and four rows of b.
template <int R, class T>
inline void dot_block(const float* a, int64_t a_stride, const T* const (&b_row)[4], int width, float* out,
                      int64_t out_stride) {
    VecF sum[R][4];
    for (int r = 0; r < R; ++r) {
        for (int i = 0; i < 4; ++i) sum[r][i] = zero();
    }
    for (int d = 0; d < width; d += kLanes) {
        VecF b[4];
        for (int i = 0; i < 4; ++i) b[i] = load_values(b_row[i] + d);
        for (int r = 0; r < R; ++r) {
            const VecF x = load(a + r * a_stride + d);
            for (int i = 0; i < 4; ++i) sum[r][i] = fma(x, b[i], sum[r][i]);
        }
    }
    for (int r = 0; r < R; ++r) store_quad(out + r * out_stride, reduce_add4(sum[r][0], sum[r][1], sum[r][2], sum[r][3]));
}

// out[r][c] = a[r] . b[c] over `width` values; T is float, F16 or Bf16. Writes whole groups of four columns: up to three
// beyond `b_rows`. b_stride is in values.
template <class T>
inline void dot_rows(const float* a, int64_t a_stride, int a_rows, const T* b, int64_t b_stride, int b_rows, int width,
                     float* out, int64_t out_stride) {
    for (int c = 0; c < b_rows; c += 4) {
        const T* b_row[4];
        for (int i = 0; i < 4; ++i) b_row[i] = b + (c + i < b_rows ? c + i : b_rows - 1) * b_stride;
        int r = 0;
        for (; r + kDotRows <= a_rows; r += kDotRows) {
            dot_block<kDotRows>(a + r * a_stride, a_stride, b_row, width, out + r * out_stride + c, out_stride);
        }
        const float* rest = a + r * a_stride;
        float* rest_out = out + r * out_stride + c;
        if constexpr (kDotRows == 4) {
            if (a_rows - r == 3) dot_block<3>(rest, a_stride, b_row, width, rest_out, out_stride);
            if (a_rows - r == 2) dot_block<2>(rest, a_stride, b_row, width, rest_out, out_stride);
        }
        if (a_rows - r == 1) dot_block<1>(rest, a_stride, b_row, width, rest_out, out_stride);
    }
}

// The left factor of multiply_rows: element (r, j) is data[r * row_stride + j * column_stride].
struct LeftTile {
    const float* data;
    int64_t row_stride;
    int64_t column_stride;
    LeftTile from_row(int row) const { return {data + row * row_stride, row_stride, column_stride}; }
};

// c[r][0 .. V vectors) += sum over j < depth of a(r, j) * b[j].
template <int R, int V, class T>
inline void multiply_block(const LeftTile& a, int depth, const T* b, int64_t b_stride, float* c, int64_t c_stride) {
    VecF sum[R][V];
    for (int r = 0; r < R; ++r) {
        for (int v = 0; v < V; ++v) sum[r][v] = load(c + r * c_stride + v * kLanes);
    }
    for (int j = 0; j < depth; ++j) {
        VecF x[V];
        for (int v = 0; v < V; ++v) x[v] = load_values(b + j * b_stride + v * kLanes);
        for (int r = 0; r < R; ++r) {
            const VecF weight = set1(a.data[r * a.row_stride + j * a.column_stride]);
            for (int v = 0; v < V; ++v) sum[r][v] = fma(weight, x[v], sum[r][v]);
        }
    }
    for (int r = 0; r < R; ++r) {
        for (int v = 0; v < V; ++v) store(c + r * c_stride + v * kLanes, sum[r][v]);
    }
}

// All columns of R rows, V vectors at a time, then halves of that for the rest.
template <int R, int V, class T>
inline void multiply_columns(const LeftTile& a, int depth, const T* b, int64_t b_stride, int width, float* c,
                             int64_t c_stride) {
    int d = 0;
    for (; d + V * kLanes <= width; d += V * kLanes) {
        multiply_block<R, V>(a, depth, b + d, b_stride, c + d, c_stride);
    }
    if constexpr (V > 1) {
        if (d < width) multiply_columns<R, V / 2>(a, depth, b + d, b_stride, width - d, c + d, c_stride);
    }
}

// c[r] += sum over j < depth of a(r, j) * b[j]; T is float, F16 or Bf16; b_stride is in values.
template <class T>
inline void multiply_rows(LeftTile a, int a_rows, int depth, const T* b, int64_t b_stride, int width, float* c,
                          int64_t c_stride) {
    for (; a_rows >= 4; a_rows -= 4) {
        multiply_columns<4, kAccumulators / 4>(a, depth, b, b_stride, width, c, c_stride);
        a = a.from_row(4);
        c += 4 * c_stride;
    }
    if (a_rows == 3) multiply_columns<3, kAccumulators / 4>(a, depth, b, b_stride, width, c, c_stride);
    if (a_rows == 2) multiply_columns<2, kAccumulators / 2>(a, depth, b, b_stride, width, c, c_stride);
    if (a_rows == 1) multiply_columns<1, kAccumulators / 2>(a, depth, b, b_stride, width, c, c_stride);
}

}  // namespace octavo::OCTAVO_ISA
