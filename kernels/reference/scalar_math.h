// Scalar functions and sums that several reference operations share, all in double.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/matrix.h"

namespace octavo::reference {

inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
inline double silu(double x) { return x * sigmoid(x); }
// log(1 + e^x), written so that neither end overflows or loses digits.
inline double softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }

template <class A, class B>
double dot(const A* a, const B* b, int64_t count) {
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    return sum;
}

// 1 / sqrt(mean(x^2) + eps)
inline double rms_factor(const float* x, int count, double eps) {
    return 1 / std::sqrt(dot(x, x, count) / count + eps);
}

// Row `index` of w as float32, without the matrix's scale: [cols].
inline std::vector<float> decode_row(const Matrix& w, int64_t index) {
    std::vector<float> row(static_cast<size_t>(w.cols));
    w.decode_rows(index, 1, row.data());
    return row;
}

}  // namespace octavo::reference
