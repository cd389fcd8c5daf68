// What the fast CPU back end promises beyond closeness to the reference (backend_parity_test.cpp): the products and the
// feed-forward part of a token have the same bits in every call, for every number of threads.
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <deque>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "tests/support/compare.h"
#include "tests/support/inputs.h"

namespace octavo {
namespace {

using test::make_input;
using test::TestMatrix;

std::vector<float> gaussian(int64_t count, unsigned seed, float scale = 1) {
    std::vector<float> values = make_input(test::InputFamily::gaussian, count, seed);
    for (float& value : values) value *= scale;
    return values;
}

TestMatrix weights(WeightType type, int64_t rows, int64_t cols, unsigned seed) {
    return {type, rows, cols, gaussian(rows * cols, seed, 0.05f)};
}

std::string isa_name(const testing::TestParamInfo<CpuIsa>& info) {
    return info.param == CpuIsa::generic ? "generic" : info.param == CpuIsa::avx2 ? "avx2" : "avx512";
}

class CpuDense : public testing::TestWithParam<CpuIsa> {
  protected:
    void SetUp() override {
        if (GetParam() > detect_cpu_isa()) GTEST_SKIP() << "this machine lacks the instruction set";
        one_thread_ = make_cpu_backend(1, GetParam());
        three_threads_ = make_cpu_backend(3, GetParam());
        reference_ = make_reference_backend();
    }

    std::unique_ptr<Backend> one_thread_;
    std::unique_ptr<Backend> three_threads_;
    std::unique_ptr<Backend> reference_;
};

void expect_close(const std::vector<float>& got, const std::vector<float>& want, float bound, const std::string& what) {
    for (size_t i = 0; i < want.size(); ++i) {
        ASSERT_NEAR(got[i], want[i], bound) << what << ", value " << i;
    }
}

TEST_P(CpuDense, MatmulIsCloseToTheReferenceAndIndependentOfTheCall) {
    for (const WeightType type :
         {WeightType::f32, WeightType::f16, WeightType::bf16, WeightType::q8_0, WeightType::f8_e4m3,
          WeightType::f8_e4m3_blocks, WeightType::q4_k, WeightType::iq4_nl}) {
        const int64_t unit = weight_type_spec(type).block_values;
        for (const int64_t cols : {32, 416, 1056, 1400, 2080}) {
            for (const int64_t rows : {6, 131}) {
                const int64_t odd_cols = unit > 1 ? (cols + unit - 1) / unit * unit : cols - 5;
                const TestMatrix a = weights(type, rows, odd_cols, 1);
                const TestMatrix b = weights(type, 37, odd_cols, 2);
                const int tokens = 67;
                const int64_t stride = rows + 3;
                const std::vector<float> x = gaussian(tokens * odd_cols, 3);
                const auto compute = [&](Backend& backend, int step) {
                    std::vector<float> y(static_cast<size_t>(tokens * (stride + 37)), 0.5f);
                    float* second = y.data() + tokens * stride;
                    for (int first = 0; first < tokens; first += step) {
                        const MatmulTarget targets[] = {
                            {.w = a.view(), .y = y.data() + first * stride, .y_stride = stride},
                            {.w = b.view(), .y = second + first * 37, .y_stride = 37, .accumulate = true}};
                        backend.matmul(x.data() + first * odd_cols, std::min(step, tokens - first), targets);
                    }
                    return y;
                };
                const std::string what = "type " + std::to_string(static_cast<int>(type)) + ", " +
                                         std::to_string(rows) + " x " + std::to_string(odd_cols);
                const std::vector<float> whole = compute(*one_thread_, tokens);
                // Rounded activations: backend_parity_test.cpp has the exact bound.
                const bool low_bit = type == WeightType::q4_k || type == WeightType::iq4_nl;
                expect_close(whole, compute(*reference_, tokens), low_bit ? 0.3f : 2e-4f, what);
                for (const int step : {1, 2, 3, 5, 7, 50}) {
                    ASSERT_EQ(whole, compute(step % 2 == 0 ? *one_thread_ : *three_threads_, step))
                        << what << ", " << step << " tokens a call";
                }
                ASSERT_EQ(whole, compute(*three_threads_, tokens)) << what;
            }
        }
    }
}

// Scales change within a row, and from one row to the next at every 128th; tasks begin and end anywhere.
TEST_P(CpuDense, Fp8InBlocksOfEverySize) {
    const int64_t cols = 1408;
    for (const test::InputFamily family : test::all_input_families()) {
        const TestMatrix w(WeightType::f8_e4m3_blocks, 268, cols, family, 1);
        for (const int rows : {1, 2, 3, 4, 5, 6, 7, 127, 129, 268}) {
            for (const int tokens : {1, 2, 3, 4, 5, 6, 7, 12, 13, 31}) {
                if (rows > 7 && tokens % 6 != 1) continue;
                const std::vector<float> x = gaussian(tokens * cols, 2);
                const auto compute = [&](Backend& backend) {
                    std::vector<float> y(static_cast<size_t>(tokens * rows), 0.5f);
                    const MatmulTarget target = {
                        .w = w.view().slice_rows(0, rows), .y = y.data(), .y_stride = rows, .accumulate = true};
                    backend.matmul(x.data(), tokens, {&target, 1});
                    return y;
                };
                std::vector<double> bounds;
                const std::vector<float> values = w.decoded();
                for (int t = 0; t < tokens; ++t) {
                    for (int r = 0; r < rows; ++r) {
                        double magnitude = 0.5;
                        for (int i = 0; i < cols; ++i) magnitude += std::fabs(x[t * cols + i] * values[r * cols + i]);
                        bounds.push_back(1e-6 * magnitude);
                    }
                }
                ASSERT_TRUE(test::within_bounds(compute(*one_thread_), compute(*reference_), bounds,
                                                {{"token", tokens}, {"row", rows}}))
                    << input_family_name(family) << ", " << rows << " rows, " << tokens << " tokens";
            }
        }
    }
}

TEST_P(CpuDense, Fp8ThatIsNoNumberStaysSo) {
    constexpr int64_t kRows = 6, kCols = 256, kBadRow = 2;
    const std::vector<float> scales(kCols / 128, 1.0f);
    for (const WeightType type : {WeightType::f8_e4m3, WeightType::f8_e4m3_blocks}) {
        for (int64_t bad = 0; bad < kCols; ++bad) {
            std::vector<std::byte> codes(kRows * kCols, std::byte{0xb8});
            codes[static_cast<size_t>(kBadRow * kCols + bad)] = bad % 2 == 0 ? std::byte{0x7f} : std::byte{0xff};
            const Matrix w{type, codes.data(), kRows, kCols, 1, reinterpret_cast<const std::byte*>(scales.data())};
            for (const int tokens : {1, 40}) {  // read in place, and unpacked
                const std::vector<float> x(static_cast<size_t>(tokens * kCols), 1.0f);
                std::vector<float> y(static_cast<size_t>(tokens * kRows));
                const MatmulTarget target = {.w = w, .y = y.data(), .y_stride = kRows};
                one_thread_->matmul(x.data(), tokens, {&target, 1});
                for (size_t i = 0; i < y.size(); ++i) {
                    if (i % kRows == kBadRow)
                        ASSERT_TRUE(std::isnan(y[i])) << "column " << bad << ", value " << i;
                    else
                        ASSERT_EQ(y[i], -kCols) << "column " << bad << ", value " << i;
                }
            }
        }
    }
}

struct MoeShape {
    WeightType type;
    int hidden, experts, top_k, ff, shared_ff;
};

TEST_P(CpuDense, MoeIsCloseToTheReferenceAndIndependentOfTheCall) {
    const MoeShape shapes[] = {{WeightType::q8_0, 96, 16, 4, 64, 32},
                               {WeightType::bf16, 70, 7, 3, 41, 35},
                               {WeightType::f32, 64, 5, 5, 33, 0},
                               {WeightType::f8_e4m3_blocks, 256, 6, 2, 128, 384},
                               {WeightType::f16, 64, 0, 0, 0, 200}};
    for (const MoeShape& shape : shapes) {
        const int tokens = 100;
        std::deque<TestMatrix> matrices;  // which stay where they are
        const auto make = [&](int ff, unsigned seed) {
            const auto add = [&](int rows, int cols, unsigned of) {
                return matrices.emplace_back(weights(shape.type, rows, cols, of)).view();
            };
            return FfnMatrices{add(ff, shape.hidden, seed), add(ff, shape.hidden, seed + 1),
                               add(shape.hidden, ff, seed + 2)};
        };
        std::vector<FfnMatrices> experts;
        for (int e = 0; e < shape.experts; ++e) experts.push_back(make(shape.ff, static_cast<unsigned>(3 * e + 1)));
        FfnMatrices shared;
        if (shape.shared_ff > 0) shared = make(shape.shared_ff, 1000);

        const std::vector<float> x = gaussian(tokens * shape.hidden, 1);
        std::vector<float> logits = gaussian(tokens * shape.experts, 2);
        for (float& logit : logits) logit = std::round(logit * 2) / 2;  // many ties
        const std::vector<float> gate = gaussian(tokens, 3);
        const auto compute = [&](Backend& backend, int step) {
            std::vector<float> y(static_cast<size_t>(tokens * shape.hidden), 0.25f);
            for (int first = 0; first < tokens; first += step) {
                backend.moe({.tokens = std::min(step, tokens - first),
                             .hidden = shape.hidden,
                             .top_k = shape.top_k,
                             .experts = experts,
                             .shared = shape.shared_ff > 0 ? &shared : nullptr,
                             .x = x.data() + first * shape.hidden,
                             .router_logits = logits.data() + first * shape.experts,
                             .shared_gate = shape.experts > 0 ? gate.data() + first : nullptr,
                             .y = y.data() + first * shape.hidden});
            }
            return y;
        };
        const std::string what = "hidden " + std::to_string(shape.hidden);
        const std::vector<float> whole = compute(*one_thread_, tokens);
        expect_close(whole, compute(*reference_, tokens), 2e-4f, what);
        for (const int step : {1, 2, 7, 64}) {
            ASSERT_EQ(whole, compute(*three_threads_, step)) << what << ", " << step << " tokens a call";
        }
        ASSERT_EQ(whole, compute(*three_threads_, tokens)) << what;
    }
}

INSTANTIATE_TEST_SUITE_P(Isas, CpuDense, testing::Values(CpuIsa::generic, CpuIsa::avx2, CpuIsa::avx512), isa_name);

}  // namespace
}  // namespace octavo
