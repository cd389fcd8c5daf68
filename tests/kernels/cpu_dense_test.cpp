// What the fast CPU back end promises beyond closeness to the reference (backend_parity_test.cpp): the products and the
// feed-forward part of a token have the same bits in every call, for every number of threads.
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/base/half.h"
#include "kernels/random_weights.h"

namespace octavo {
namespace {

std::vector<float> gaussian(int64_t count, unsigned seed, float scale = 1) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0, scale);
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values) value = normal(random);
    return values;
}

// Random weights in a file's layout.
struct Weights {
    std::vector<std::byte> bytes;
    Matrix matrix;

    Weights(WeightType type, int64_t rows, int64_t cols, unsigned seed) {
        matrix = {type, nullptr, rows, cols};
        bytes.resize(static_cast<size_t>(matrix.bytes()));
        matrix.data = bytes.data();
        const std::vector<float> values = gaussian(rows * cols, seed, 0.05f);
        const WeightTypeSpec& spec = weight_type_spec(type);
        if (spec.block_values > 1) {
            for (int64_t block = 0; block < rows * matrix.row_blocks(); ++block) {
                fill_random_weights(type, 1, 2 * std::abs(values[static_cast<size_t>(block)]), seed + block,
                                    &bytes[static_cast<size_t>(block * spec.block_bytes)]);
            }
            return;
        }
        for (size_t i = 0; i < values.size(); ++i) {
            if (type == WeightType::f32) {
                std::memcpy(&bytes[i * 4], &values[i], 4);
            } else {
                const uint16_t half = type == WeightType::f16 ? f32_to_f16(values[i]) : f32_to_bf16(values[i]);
                std::memcpy(&bytes[i * 2], &half, 2);
            }
        }
    }
};

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
         {WeightType::f32, WeightType::f16, WeightType::bf16, WeightType::q8_0, WeightType::q4_k, WeightType::iq4_nl}) {
        const int64_t unit = weight_type_spec(type).block_values;
        for (const int64_t cols : {32, 416, 1056, 2080}) {
            for (const int64_t rows : {6, 131}) {
                const int64_t odd_cols = unit > 1 ? (cols + unit - 1) / unit * unit : cols - 5;
                const Weights a(type, rows, odd_cols, 1);
                const Weights b(type, 37, odd_cols, 2);
                const int tokens = 67;
                const int64_t stride = rows + 3;
                const std::vector<float> x = gaussian(tokens * odd_cols, 3);
                const auto compute = [&](Backend& backend, int step) {
                    std::vector<float> y(static_cast<size_t>(tokens * (stride + 37)), 0.5f);
                    float* second = y.data() + tokens * stride;
                    for (int first = 0; first < tokens; first += step) {
                        const MatmulTarget targets[] = {
                            {.w = a.matrix, .y = y.data() + first * stride, .y_stride = stride},
                            {.w = b.matrix, .y = second + first * 37, .y_stride = 37, .accumulate = true}};
                        backend.matmul(x.data() + first * odd_cols, std::min(step, tokens - first), targets);
                    }
                    return y;
                };
                const std::string what = "type " + std::to_string(static_cast<int>(type)) + ", " +
                                         std::to_string(rows) + " x " + std::to_string(odd_cols);
                const std::vector<float> whole = compute(*one_thread_, tokens);
                // Rounded activations: backend_parity_test.cpp has the exact bound.
                const bool low_bit = type == WeightType::q4_k || type == WeightType::iq4_nl;
                expect_close(whole, compute(*reference_, tokens), low_bit ? 0.1f : 2e-4f, what);
                for (const int step : {1, 2, 3, 5, 7, 50}) {
                    ASSERT_EQ(whole, compute(step % 2 == 0 ? *one_thread_ : *three_threads_, step))
                        << what << ", " << step << " tokens a call";
                }
                ASSERT_EQ(whole, compute(*three_threads_, tokens)) << what;
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
                               {WeightType::f16, 64, 0, 0, 0, 200}};
    for (const MoeShape& shape : shapes) {
        const int tokens = 100;
        std::vector<Weights> weights;
        weights.reserve(static_cast<size_t>(3 * shape.experts + 3));
        const auto make = [&](int ff, unsigned seed) {
            weights.emplace_back(shape.type, ff, shape.hidden, seed);
            weights.emplace_back(shape.type, ff, shape.hidden, seed + 1);
            weights.emplace_back(shape.type, shape.hidden, ff, seed + 2);
            const size_t n = weights.size();
            return FfnMatrices{weights[n - 3].matrix, weights[n - 2].matrix, weights[n - 1].matrix};
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
