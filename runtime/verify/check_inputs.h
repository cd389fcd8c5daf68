// Random inputs for checks of kernels, and the comparison of what comes out.
//
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/matrix.h"

namespace octavo {

// Values in [-size, size), the same for the same seed.
std::vector<float> random_floats(size_t count, uint64_t seed, float size = 1.0f);

// A matrix of random weights of one type, with the bytes it points to.
class RandomMatrix {
  public:
    // Weights are about 1/sqrt(cols) large, as trained ones are.
    RandomMatrix(WeightType type, int64_t rows, int64_t cols, uint64_t seed);
    const Matrix& matrix() const { return matrix_; }

  private:
    std::vector<std::byte> bytes_, block_scales_;
    Matrix matrix_;
};

// |actual - expected| <= tolerance * the largest |expected|; the error names the first element that breaks it.
Status check_close(std::span<const float> expected, std::span<const float> actual, float tolerance);

}  // namespace octavo
