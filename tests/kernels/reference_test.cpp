// The oracle against values computed by hand, and against what must hold whatever the numbers are. Attention, the
// delta rule and the experts have their own files.
#include <gtest/gtest.h>
#include <cmath>
#include <vector>

#include "kernels/backend.h"
#include "tests/support/compare.h"
#include "tests/support/inputs.h"
#include "tests/support/random.h"

namespace octavo {
namespace {

using test::InputFamily;
using test::TestMatrix;
using Values = std::vector<float>;

double silu(double x) { return x / (1 + std::exp(-x)); }

class Reference : public testing::Test {
  protected:
    const std::unique_ptr<Backend> backend_ = make_reference_backend();
};

TEST_F(Reference, MatmulWritesEachTargetInItsStride) {
    const TestMatrix two(WeightType::f32, 2, 3, Values{1, 2, 3, 4, 5, 6});
    const TestMatrix one(WeightType::f32, 1, 3, Values{-1, 0, 1});
    const Values x = {1, 1, 1, 1, 0, -1};  // two tokens
    Values y(6, 100);                      // [2][3]: two rows of the first target, one of the second
    const MatmulTarget targets[] = {{.w = two.view(), .y = &y[0], .y_stride = 3},
                                    {.w = one.view(), .y = &y[2], .y_stride = 3, .accumulate = true}};
    backend_->matmul(x.data(), 2, targets);
    EXPECT_EQ(y, (Values{6, 15, 100, -2, -2, 98}));
}

TEST_F(Reference, RmsNormDividesByTheRootOfTheMeanSquare) {
    const Values x = {3, -4, 0, 0};  // mean square 6.25
    const Values weight = {1, 2, 3, 4};
    Values y(4);
    backend_->rms_norm(x.data(), 1, 4, weight.data(), 0, y.data());
    EXPECT_TRUE(test::within(y, Values{1.2f, -3.2f, 0, 0}, 1e-7, {{"column", 4}}));

    const Values zero(4);
    backend_->rms_norm(zero.data(), 1, 4, weight.data(), 1e-6f, y.data());
    EXPECT_EQ(y, zero);
}

TEST_F(Reference, GatedNormNormalisesBeforeTheGate) {
    const Values x = {3, 4, 5, 5};
    const Values z = {0, 1, 100, -100};
    const Values weight = {1, 2};
    Values y(4);
    backend_->gated_norm({.rows = 2, .width = 2, .x = x.data(), .z = z.data(), .weight = weight.data(), .y = y.data()});
    const Values want = {0, static_cast<float>(4 / std::sqrt(12.5) * 2 * silu(1)), 100, 0};
    EXPECT_TRUE(test::within(y, want, 1e-5, {{"row", 2}, {"column", 2}}));
}

TEST_F(Reference, RopeTurnsPairsThatLieHalfTheRotaryWidthApart) {
    // Root mean square 1, so that the norm changes nothing; rope on the first 4 of 6 values.
    const double unit = std::sqrt(6.0 / 91);
    Values head;
    for (int i = 1; i <= 6; ++i) head.push_back(static_cast<float>(i * unit));
    Values q_gate = head;
    q_gate.insert(q_gate.end(), 6, 7.0f);  // the gate, which is left alone
    const Values q_norm(6, 1);
    const Values k_norm = {1, 1, 1, 1, 1, 2};
    const Values cos = {0, 1};  // the first pair turns by 90 degrees, the second not at all
    const Values sin = {1, 0};
    Values q(6);
    Values k = head;
    backend_->qk_norm_rope({.tokens = 1,
                            .heads = 1,
                            .kv_heads = 1,
                            .head_dim = 6,
                            .rope_dims = 4,
                            .q_gate = q_gate.data(),
                            .q_norm = q_norm.data(),
                            .k_norm = k_norm.data(),
                            .cos = cos.data(),
                            .sin = sin.data(),
                            .q = q.data(),
                            .k = k.data()});
    Values want;
    for (const int i : {-3, 2, 1, 4, 5, 6}) want.push_back(static_cast<float>(i * unit));
    EXPECT_TRUE(test::within(q, want, 1e-6, {{"value", 6}}));
    want[5] *= 2;
    EXPECT_TRUE(test::within(k, want, 1e-6, {{"value", 6}}));
}

TEST_F(Reference, EmbedAndGatherMoveValues) {
    const TestMatrix table(WeightType::f16, 3, 2, Values{0, 1, 10, 11, 20, 21});
    const std::vector<int32_t> ids = {2, 0, 2};
    Values x(6);
    backend_->embed(table.view(), ids, x.data());
    EXPECT_EQ(x, (Values{20, 21, 0, 1, 20, 21}));

    const Values wide = {0, 1, 2, 3, 10, 11, 12, 13};
    const std::vector<int32_t> source = {2, 0, 2};
    Values y(6);
    backend_->gather_columns(wide.data(), 2, 4, source, y.data());
    EXPECT_EQ(y, (Values{2, 0, 2, 12, 10, 12}));
}

TEST_F(Reference, ConvolutionEndsWithTheCurrentToken) {
    const Values x = {1, 10, 2, 20};           // two tokens, two channels
    const Values weight = {1, 2, 3, 0, 0, 1};  // [channel][tap]
    Values state = {5, 50, 7, 70};             // oldest first
    Values y(4);
    backend_->causal_conv({.tokens = 2,
                           .channels = 2,
                           .kernel = 3,
                           .x = x.data(),
                           .weight = weight.data(),
                           .state = state.data(),
                           .y = y.data()});
    Values want;
    for (const double sum : {5 + 2 * 7 + 3 * 1, 10, 7 + 2 * 1 + 3 * 2, 20}) {
        want.push_back(static_cast<float>(silu(sum)));
    }
    EXPECT_TRUE(test::within(y, want, 1e-6, {{"token", 2}, {"channel", 2}}));
    EXPECT_EQ(state, x);  // the last two tokens, before activation
}

// Runs `tokens` tokens in pieces that end at random places.
template <class Run>
void run_in_pieces(int tokens, uint64_t seed, Run&& run) {
    test::Random random(seed);
    for (int first = 0; first < tokens;) {
        const int count = 1 + static_cast<int>(random.below(tokens - first));
        run(first, count);
        first += count;
    }
}

TEST_F(Reference, ConvolutionCanBeSplitAnywhere) {
    constexpr int kTokens = 23;
    constexpr int kChannels = 5;
    const Values x = test::make_input(InputFamily::gaussian, kTokens * kChannels, 1);
    const Values weight = test::make_input(InputFamily::gaussian, kChannels * 4, 2);
    const Values start = test::make_input(InputFamily::gaussian, 3 * kChannels, 3);
    const auto run = [&](int first, int count, Values& state, Values& y) {
        backend_->causal_conv({.tokens = count,
                               .channels = kChannels,
                               .kernel = 4,
                               .x = &x[first * kChannels],
                               .weight = weight.data(),
                               .state = state.data(),
                               .y = &y[first * kChannels]});
    };
    Values state = start;
    Values y(x.size());
    run(0, kTokens, state, y);
    for (uint64_t seed = 0; seed < 10; ++seed) {
        Values split_state = start;
        Values split_y(x.size());
        run_in_pieces(kTokens, seed, [&](int first, int count) { run(first, count, split_state, split_y); });
        EXPECT_TRUE(test::same_bits(split_y, y, {{"token", kTokens}, {"channel", kChannels}}));
        EXPECT_TRUE(test::same_bits(split_state, state, {{"slot", 3}, {"channel", kChannels}}));
    }
}

}  // namespace
}  // namespace octavo
