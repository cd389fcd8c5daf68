#include "runtime/verify/check_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/random_weights.h"
#include "runtime/sampler.h"

namespace octavo {

std::vector<float> random_floats(size_t count, uint64_t seed, float size) {
    RandomStream random(seed);
    std::vector<float> values(count);
    for (float& value : values) value = size * static_cast<float>(2 * random.next_unit() - 1);
    return values;
}

RandomMatrix::RandomMatrix(WeightType type, int64_t rows, int64_t cols, uint64_t seed) {
    matrix_ = {type, nullptr, rows, cols};
    bytes_.resize(static_cast<size_t>(matrix_.bytes()));
    matrix_.data = bytes_.data();
    block_scales_.resize(static_cast<size_t>(rows * matrix_.scale_row_bytes()));
    matrix_.block_scales = block_scales_.data();
    const float largest = std::sqrt(3.0f / static_cast<float>(cols));
    fill_random_weights(type, rows * matrix_.row_blocks(), largest, seed, bytes_.data(), block_scales_.data());
}

Status check_close(std::span<const float> expected, std::span<const float> actual, float tolerance) {
    float largest = 0;
    for (const float value : expected) largest = std::max(largest, std::fabs(value));
    for (size_t i = 0; i < expected.size(); ++i)
        if (!(std::fabs(actual[i] - expected[i]) <= tolerance * largest))  // not a number breaks it too
            return Error{ErrorKind::device, fmt::format("element {} is {} instead of {} (the largest is {})", i,
                                                        actual[i], expected[i], largest)};
    return {};
}

}  // namespace octavo
