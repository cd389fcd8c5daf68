// What the parity suites share: a back end under test beside the reference, and the bounds of every operation.
#pragma once

#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "tests/support/backends.h"
#include "tests/support/compare.h"
#include "tests/support/inputs.h"

namespace octavo::test {

using Values = std::vector<float>;
using Bounds = std::vector<double>;

// Largest difference from the reference, as a share of the magnitude named. Float32 sums in another order stay well
// inside; a lost term, a wrong position or a format rounded too early does not.
struct ParityBounds {
    double matmul = 1e-5;        // of the sum of |w x|
    double rms_norm = 1e-5;      // of |y|
    double gated_norm = 1e-5;    // of |y|
    double qk_norm_rope = 1e-5;  // of the length of the rotated pair
    double kv_basis = 1e-5;      // of the length that rotation adds up
    double attention = 1e-5;     // of the largest |v|, times 1 + the largest sum of |q k|
    double causal_conv = 1e-5;   // of the sum of |w x|
    double gated_delta = 1e-5;   // of the largest of state, v and output in the head
    double moe = 2e-5;           // of the sum of |products|, carried through both layers
};
inline constexpr ParityBounds kBounds;
// Below this a difference does not count: a few hundred steps of the smallest float32.
inline constexpr double kSmallest = 1e-42;

class BackendParity : public testing::TestWithParam<BackendUnderTest> {
  protected:
    void SetUp() override { ASSERT_NE(backend_, nullptr) << "the back end could not be made"; }

    // Calls run(family) for each family, with its name in failure messages.
    template <class Run>
    static void for_each_family(Run&& run) {
        for (const InputFamily family : all_input_families()) {
            SCOPED_TRACE(std::string(input_family_name(family)));
            run(family);
            if (testing::Test::HasFatalFailure()) return;
        }
    }

    const std::unique_ptr<Backend> backend_ = GetParam().make();
    const std::unique_ptr<Backend> reference_ = make_reference_backend();
};

inline std::string parity_name(const testing::TestParamInfo<BackendUnderTest>& info) { return info.param.name; }

inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
inline double silu(double x) { return x * sigmoid(x); }

// Sum of |a b|: what rounding errors of a product are measured by.
inline double dot_magnitude(const float* a, const float* b, int64_t count, int64_t a_stride = 1) {
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += std::fabs(static_cast<double>(a[i * a_stride]) * b[i]);
    return sum;
}

// Types below 8 bits: a back end may round what they are multiplied with to 8 bits (kernels/backend.h).
inline bool low_bit(WeightType type) {
    const WeightTypeSpec& spec = weight_type_spec(type);
    return spec.block_bytes < spec.block_values;
}
// What that may change in a product: half a step of the rounding, a 254th of the block's largest |b|, for each |a|.
inline double rounding_bound(const float* a, const float* b, int64_t count) {
    constexpr int64_t kBlock = 32;
    double bound = 0;
    for (int64_t first = 0; first < count; first += kBlock) {
        const int64_t end = std::min(first + kBlock, count);
        double largest = 0, sum = 0;
        for (int64_t i = first; i < end; ++i) {
            largest = std::max(largest, std::fabs(static_cast<double>(b[i])));
            sum += std::fabs(static_cast<double>(a[i]));
        }
        bound += 1.001 * largest / 254 * sum;
    }
    return bound;
}

}  // namespace octavo::test
