#include <gtest/gtest.h>
#include <cmath>
#include <vector>

#include "kernels/backend.h"
#include "tests/support/compare.h"
#include "tests/support/inputs.h"

namespace octavo {
namespace {

using test::TestMatrix;
using Values = std::vector<float>;

double silu(double x) { return x / (1 + std::exp(-x)); }

// Experts on one hidden value with one inner value: ffn(x) = down * silu(gate x) * (up x).
class ReferenceMoe : public testing::Test {
  protected:
    void add_expert(float gate, float up, float down) {
        for (const float value : {gate, up, down}) matrices_.emplace_back(WeightType::f32, 1, 1, Values{value});
    }

    std::vector<FfnMatrices> experts() const {
        std::vector<FfnMatrices> result;
        for (size_t i = 0; i + 2 < matrices_.size(); i += 3) {
            result.push_back({matrices_[i].view(), matrices_[i + 1].view(), matrices_[i + 2].view()});
        }
        return result;
    }

    // One token with x = 1 and y = 10 before.
    float run(const Values& router_logits, int top_k, const FfnMatrices* shared = nullptr,
              const float* shared_gate = nullptr) const {
        const std::vector<FfnMatrices> all = experts();
        const float x = 1;
        float y = 10;
        make_reference_backend()->moe({.tokens = 1,
                                       .hidden = 1,
                                       .top_k = top_k,
                                       .experts = router_logits.empty() ? std::span<const FfnMatrices>() : all,
                                       .shared = shared,
                                       .x = &x,
                                       .router_logits = router_logits.data(),
                                       .shared_gate = shared_gate,
                                       .y = &y});
        return y;
    }

    std::vector<TestMatrix> matrices_;
};

TEST_F(ReferenceMoe, WeighsTheBestByTheSoftmaxOfTheirLogits) {
    for (const float down : {1.0f, 2.0f, 3.0f, 4.0f}) add_expert(1, 1, down);
    const double p = 1 / (1 + std::exp(-1.0));  // of logit 3 against logit 2
    EXPECT_NEAR(run({0, 3, 1, 2}, 2), 10 + silu(1) * (2 * p + 4 * (1 - p)), 1e-5);
}

TEST_F(ReferenceMoe, ATieGoesToTheLowerIndex) {
    for (const float down : {1.0f, 2.0f, 4.0f, 8.0f}) add_expert(1, 1, down);
    EXPECT_NEAR(run({0, 0, 0, 0}, 2), 10 + silu(1) * 1.5, 1e-5);
    EXPECT_NEAR(run({0, 1, 0, 1}, 1), 10 + silu(1) * 2, 1e-5);
    EXPECT_NEAR(run({-1, 0, 0, 0}, 2), 10 + silu(1) * 3, 1e-5);
}

TEST_F(ReferenceMoe, EqualExpertsAreOneExpert) {
    for (int i = 0; i < 4; ++i) add_expert(0.5f, -2, 3);
    for (const int top_k : {1, 2, 4}) EXPECT_NEAR(run({0.3f, -1, 2, 0.7f}, top_k), 10 + 3 * silu(0.5) * -2, 1e-5);
}

TEST_F(ReferenceMoe, TheSharedExpertIsAddedThroughItsGate) {
    add_expert(1, 1, 1);
    const std::vector<FfnMatrices> all = experts();
    const float gate = 0.75f;
    const double sigmoid = 1 / (1 + std::exp(-0.75));
    EXPECT_NEAR(run({5}, 1, all.data(), &gate), 10 + silu(1) * (1 + sigmoid), 1e-5);
    EXPECT_NEAR(run({}, 0, all.data()), 10 + silu(1), 1e-5);  // a dense model: no experts, no gate
}

TEST_F(ReferenceMoe, LogitsFarApartStayFinite) {
    add_expert(1, 1, 1);
    add_expert(1, 1, 2);
    EXPECT_NEAR(run({-3e4f, 3e4f}, 2), 10 + silu(1) * 2, 1e-5);
}

}  // namespace
}  // namespace octavo
