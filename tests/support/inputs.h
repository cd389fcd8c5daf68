// Inputs by family: kernels fail on what short Gaussian tests never meet.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/matrix.h"

namespace octavo::test {

enum class InputFamily {
    flat,      // one value everywhere
    ramp,      // -1 to 1 in equal steps
    outliers,  // small values, every 50th or so 100 times as large
    gaussian,
    denormal,  // below the smallest normal float32
    zero,
    one_huge,  // Gaussian, with a single 30000 (largest float16: 65504)
};

std::span<const InputFamily> all_input_families();
std::string_view input_family_name(InputFamily family);

std::vector<float> make_input(InputFamily family, int64_t count, uint64_t seed);

// A weight matrix that owns its bytes: the family's values, encoded as `type`.
class TestMatrix {
  public:
    TestMatrix(WeightType type, int64_t rows, int64_t cols, InputFamily family, uint64_t seed, float scale = 1);
    // From row-major values[rows * cols]. `scale` is the matrix's own, beside the values.
    TestMatrix(WeightType type, int64_t rows, int64_t cols, std::span<const float> values, float scale = 1);

    Matrix view() const { return {type_, bytes_.data(), rows_, cols_, scale_, block_scales_.data()}; }
    std::vector<float> decoded() const;  // [rows][cols], as kernels see it, with the scale

  private:
    WeightType type_;
    int64_t rows_;
    int64_t cols_;
    float scale_;
    std::vector<std::byte> bytes_, block_scales_;
};

}  // namespace octavo::test
