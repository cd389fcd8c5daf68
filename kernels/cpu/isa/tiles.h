// Register-blocked products of small row-major tiles, shared by attention and the chunked delta rule. Widths are whole
// vectors. A sum is taken in one order whatever the block sizes, so a row's result does not depend on its neighbours.
#pragma once

#include <cstddef>

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
// Asks for the cache line of p, to be read kRowsAhead rows later: the processor's own prefetch stops at page ends and
// is shy of rows that lie apart. Without temporal locality: a cell is read once a token, and must not push the weights
// out of the caches. float32 tiles are in the cache already.
inline constexpr int kRowsAhead = 16;
template <class T>
inline constexpr int kLineValues = 64 / static_cast<int>(sizeof(T));
// Always inline: a compiler that takes a function of nothing but fetches for one without effect drops the calls.
template <class T>
[[gnu::always_inline]] inline void fetch_line(const T* p) {
    __builtin_prefetch(p, 0, 0);
}
[[gnu::always_inline]] inline void fetch_line(const float*) {}
[[gnu::always_inline]] inline void fetch_bytes(const std::byte* p, int64_t bytes) {
    for (int64_t i = 0; i < bytes; i += 64) fetch_line(p + i);
}

// Vector accumulators that fit the registers beside what they are fed from.
#if defined(__AVX512F__)
inline constexpr int kAccumulators = 16;
#else
inline constexpr int kAccumulators = 8;
#endif
inline constexpr int kDotRows = kAccumulators / 4;

// Four rows of the right factor, and how far (in values) the rows lie that should be on their way by then; 0: none.
template <class T>
struct FourRows {
    const T* row[4];
    int64_t ahead;
};

// out[r][i] = a[r] . b.row[i] for R rows of a.
template <int R, class T>
inline void dot_block(const float* a, int64_t a_stride, const FourRows<T>& b, int width, float* out,
                      int64_t out_stride) {
    VecF sum[R][4];
    for (int r = 0; r < R; ++r) {
        for (int i = 0; i < 4; ++i) sum[r][i] = zero();
    }
    for (int d = 0; d < width; d += kLanes) {
        // Spread over the loop: a burst of fetches would hold up the loads behind it.
        if (b.ahead != 0 && d % kLineValues<T> == 0) {
            for (int i = 0; i < 4; ++i) fetch_line(b.row[i] + b.ahead + d);
        }
        VecF values[4];
        for (int i = 0; i < 4; ++i) values[i] = load_values(b.row[i] + d);
        for (int r = 0; r < R; ++r) {
            const VecF x = load(a + r * a_stride + d);
            for (int i = 0; i < 4; ++i) sum[r][i] = fma(x, values[i], sum[r][i]);
        }
    }
    for (int r = 0; r < R; ++r) {
        store_quad(out + r * out_stride, reduce_add4(sum[r][0], sum[r][1], sum[r][2], sum[r][3]));
    }
}

// out[r][c] = a[r] . b[c] over `width` values; T is float, F16 or Bf16. Writes whole groups of four columns: up to
// three beyond `b_rows`. b_stride is in values. `b_next`: rows after these that will be read soon.
template <class T>
inline void dot_rows(const float* a, int64_t a_stride, int a_rows, const T* b, int64_t b_stride, int b_rows, int b_next,
                     int width, float* out, int64_t out_stride) {
    for (int c = 0; c < b_rows; c += 4) {
        FourRows<T> rows;
        for (int i = 0; i < 4; ++i) rows.row[i] = b + (c + i < b_rows ? c + i : b_rows - 1) * b_stride;
        rows.ahead = c + 3 + kRowsAhead < b_rows + b_next ? kRowsAhead * b_stride : 0;
        int r = 0;
        for (; r + kDotRows <= a_rows; r += kDotRows) {
            dot_block<kDotRows>(a + r * a_stride, a_stride, rows, width, out + r * out_stride + c, out_stride);
        }
        const float* rest = a + r * a_stride;
        float* rest_out = out + r * out_stride + c;
        if constexpr (kDotRows == 4) {
            if (a_rows - r == 3) dot_block<3>(rest, a_stride, rows, width, rest_out, out_stride);
            if (a_rows - r == 2) dot_block<2>(rest, a_stride, rows, width, rest_out, out_stride);
        }
        if (a_rows - r == 1) dot_block<1>(rest, a_stride, rows, width, rest_out, out_stride);
    }
}

// The left factor of multiply_rows: element (r, j) is data[r * row_stride + j * column_stride].
struct LeftTile {
    const float* data;
    int64_t row_stride;
    int64_t column_stride;
    LeftTile from_row(int row) const { return {data + row * row_stride, row_stride, column_stride}; }
};

// c[r][0 .. V vectors) += sum over j < depth of a(r, j) * b[j]. Rows of b up to `ahead_end` will be read soon.
template <int R, int V, class T>
inline void multiply_block(const LeftTile& a, int depth, int ahead_end, const T* b, int64_t b_stride, float* c,
                           int64_t c_stride) {
    VecF sum[R][V];
    for (int r = 0; r < R; ++r) {
        for (int v = 0; v < V; ++v) sum[r][v] = load(c + r * c_stride + v * kLanes);
    }
    for (int j = 0; j < depth; ++j) {
        if (j < ahead_end) {
            for (int v = 0; v < V * kLanes; v += kLineValues<T>) fetch_line(b + (j + kRowsAhead) * b_stride + v);
        }
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
inline void multiply_columns(const LeftTile& a, int depth, int ahead_end, const T* b, int64_t b_stride, int width,
                             float* c, int64_t c_stride) {
    int d = 0;
    for (; d + V * kLanes <= width; d += V * kLanes) {
        multiply_block<R, V>(a, depth, ahead_end, b + d, b_stride, c + d, c_stride);
    }
    if constexpr (V > 1) {
        if (d < width) multiply_columns<R, V / 2>(a, depth, ahead_end, b + d, b_stride, width - d, c + d, c_stride);
    }
}

// c[r] += sum over j < depth of a(r, j) * b[j]; T is float, F16 or Bf16; b_stride is in values. `b_next`: rows of b
// after these that will be read soon.
template <class T>
inline void multiply_rows(LeftTile a, int a_rows, int depth, int b_next, const T* b, int64_t b_stride, int width,
                          float* c, int64_t c_stride) {
    const int ahead_end = depth + b_next - kRowsAhead;
    for (; a_rows >= 4; a_rows -= 4) {
        multiply_columns<4, kAccumulators / 4>(a, depth, ahead_end, b, b_stride, width, c, c_stride);
        a = a.from_row(4);
        c += 4 * c_stride;
    }
    if (a_rows == 3) multiply_columns<3, kAccumulators / 4>(a, depth, ahead_end, b, b_stride, width, c, c_stride);
    if (a_rows == 2) multiply_columns<2, kAccumulators / 2>(a, depth, ahead_end, b, b_stride, width, c, c_stride);
    if (a_rows == 1) multiply_columns<1, kAccumulators / 2>(a, depth, ahead_end, b, b_stride, width, c, c_stride);
}

}  // namespace octavo::OCTAVO_ISA
