// Products of many tokens with FP16 factors (kernels/cuda/gemm.cuh) at the ends of the number range.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cuda/cuda.h"
#include "kernels/host_arrays.h"
#include "tests/support/compare.h"
#include "tests/support/inputs.h"

namespace octavo::test {
namespace {

using Values = std::vector<float>;
constexpr int64_t kRows = 96, kCols = 256;

class CudaFactors : public testing::TestWithParam<WeightType> {
  protected:
    void SetUp() override {
        Result<std::unique_ptr<Backend>> backend = make_cuda_backend({});
        if (!backend) GTEST_SKIP() << backend.error().message;
        cuda_ = on_host_arrays(std::move(*backend));
    }

    static Values multiply(Backend& backend, const TestMatrix& w, const Values& x) {
        const auto tokens = static_cast<int>(std::ssize(x) / kCols);
        Values y(static_cast<size_t>(tokens * kRows));
        const MatmulTarget target{w.view(), y.data(), kRows, false};
        backend.matmul(x.data(), tokens, {&target, 1});
        EXPECT_TRUE(backend.finish());
        return y;
    }

    std::unique_ptr<Backend> cuda_;
    const std::unique_ptr<Backend> reference_ = make_reference_backend();
};

// Rows of x of any size are as exact as others; infinities and what is no number stay in their row, and are seen.
TEST_P(CudaFactors, InputsOfEverySize) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    constexpr float kSizes[] = {1, 1e-30f, 1e30f, 0, 70000, 1e-7f};
    constexpr int kTokens = 12, kInfinite = 3, kNotANumber = 8;
    const TestMatrix w(GetParam(), kRows, kCols, InputFamily::gaussian, 1);
    Values x = make_input(InputFamily::gaussian, kTokens * kCols, 2);
    for (size_t i = 0; i < x.size(); ++i) x[i] *= kSizes[i / kCols % std::size(kSizes)];
    Values with_both = x;
    with_both[kInfinite * kCols + 5] = kInfinity;
    with_both[kNotANumber * kCols + 77] = std::numeric_limits<float>::quiet_NaN();
    const Values want = multiply(*reference_, w, x);
    const Values got = multiply(*cuda_, w, x);
    const Values seen = multiply(*cuda_, w, with_both);
    for (int64_t t = 0; t < kTokens; ++t) {
        const auto row = [&](const Values& values) { return std::span(values).subspan(size_t(t * kRows), kRows); };
        double largest = 0;
        for (const float value : row(want)) largest = std::max(largest, std::fabs(double{value}));
        EXPECT_TRUE(within(row(got), row(want), 1e-3 * largest, {{"row", kRows}})) << "token " << t;
        if (t == kInfinite || t == kNotANumber) {
            for (const float value : row(seen)) EXPECT_FALSE(std::isfinite(value)) << "token " << t;
        } else {
            EXPECT_TRUE(same_bits(row(seen), row(got), {{"row", kRows}})) << "token " << t;
        }
    }
}
INSTANTIATE_TEST_SUITE_P(All, CudaFactors,
                         testing::Values(WeightType::f16, WeightType::bf16, WeightType::f8_e4m3,
                                         WeightType::f8_e4m3_blocks, WeightType::nvfp4_apart, WeightType::q8_0,
                                         WeightType::q4_0, WeightType::q4_1, WeightType::q5_0, WeightType::q5_1,
                                         WeightType::q2_k, WeightType::q3_k, WeightType::q4_k, WeightType::q5_k,
                                         WeightType::q6_k, WeightType::iq4_nl, WeightType::iq4_xs, WeightType::mxfp4,
                                         WeightType::iq3_s),
                         [](const auto& info) {
                             std::string name(weight_type_spec(info.param).name);
                             std::ranges::replace(name, ' ', '_');
                             return name;
                         });

// Weights that FP16 cannot hold: a result is right or not finite.
using CudaFactorsBf16 = CudaFactors;
TEST_P(CudaFactorsBf16, WeightsBeyondTheRange) {
    Values weights = make_input(InputFamily::gaussian, kRows * kCols, 1);
    weights[7 * kCols + 3] = 1e6f;
    weights[40 * kCols + 200] = -3e38f;
    const TestMatrix w(GetParam(), kRows, kCols, weights);
    const Values x = make_input(InputFamily::gaussian, 6 * kCols, 2);
    const Values want = multiply(*reference_, w, x);
    const Values got = multiply(*cuda_, w, x);
    for (int64_t i = 0; i < std::ssize(got); ++i) {
        const int64_t row = i % kRows;
        if (row == 7 || row == 40) {
            EXPECT_FALSE(std::isfinite(got[i])) << "row " << row;
        } else {
            EXPECT_NEAR(got[i], want[i], 1e-2) << "row " << row;
        }
    }
}
INSTANTIATE_TEST_SUITE_P(All, CudaFactorsBf16, testing::Values(WeightType::bf16),
                         [](const auto&) { return std::string("bf16"); });

}  // namespace
}  // namespace octavo::test
