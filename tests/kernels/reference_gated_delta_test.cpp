#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/backend.h"
#include "tests/support/compare.h"
#include "tests/support/inputs.h"
#include "tests/support/random.h"

namespace octavo {
namespace {

using test::InputFamily;
using Values = std::vector<float>;

double largest(const Values& values) {
    double result = 0;
    for (const float value : values) result = std::max(result, std::fabs(static_cast<double>(value)));
    return result;
}

// One key head of dimension 2, one value head of dimension 2, g = 0 (no decay) unless a_scale says otherwise.
struct TinyDelta {
    Values qkv;
    Values b;
    Values a_scale = {0};
    Values state = {0, 0, 0, 0};
    Values out;

    void run() {
        const int tokens = static_cast<int>(b.size());
        const Values zero(b.size());
        const int32_t key_head = 0;
        out.assign(b.size() * 2, 0);
        make_reference_backend()->gated_delta({.tokens = tokens,
                                               .key_heads = 1,
                                               .value_heads = 1,
                                               .key_dim = 2,
                                               .value_dim = 2,
                                               .qkv = qkv.data(),
                                               .b = b.data(),
                                               .a = zero.data(),
                                               .a_scale = a_scale.data(),
                                               .dt_bias = zero.data(),
                                               .key_head_of_value_head = &key_head,
                                               .state = state.data(),
                                               .out = out.data()});
    }
};

TEST(ReferenceGatedDelta, WritesAndReadsUnderTheKey) {
    TinyDelta delta;
    delta.qkv = {1, 0, 1, 0, 5, 6};  // q, k, v
    delta.b = {0};                   // beta = 1/2
    delta.run();
    const double q = 1 / std::sqrt(2.0);
    EXPECT_TRUE(test::within(delta.state, Values{2.5f, 3, 0, 0}, 1e-5, {{"key", 2}, {"value", 2}}));
    EXPECT_NEAR(delta.out[0], 2.5 * q, 1e-5);
    EXPECT_NEAR(delta.out[1], 3 * q, 1e-5);
}

TEST(ReferenceGatedDelta, ReplacesWhatTheKeyHeld) {
    TinyDelta delta;
    delta.qkv = {1, 0, 0, 3, 5, 6};  // k has length 3 and is normalised
    delta.b = {50};                  // beta = 1: the old value goes
    delta.state = {7, 8, 9, 10};
    delta.run();
    EXPECT_TRUE(test::within(delta.state, Values{7, 8, 5, 6}, 1e-4, {{"key", 2}, {"value", 2}}));
    EXPECT_NEAR(delta.out[0], 7 / std::sqrt(2.0), 1e-5);  // q reads the other key
}

TEST(ReferenceGatedDelta, DecaysBeforeItReads) {
    TinyDelta delta;
    delta.qkv = {1, 0, 1, 0, 0, 0};
    delta.b = {50};
    delta.a_scale = {-1};  // g = -softplus(0) = -log 2
    delta.state = {8, 0, 4, 0};
    delta.run();
    // The first row is read after decay (4) and wholly replaced by v = 0; read undecayed it would become -4.
    EXPECT_TRUE(test::within(delta.state, Values{0, 0, 2, 0}, 1e-4, {{"key", 2}, {"value", 2}}));
}

// A model-like case with several heads; `form` and the split are what the tests vary.
class ReferenceGatedDeltaForms : public testing::Test {
  protected:
    static constexpr int kTokens = 150;
    static constexpr int kKeyHeads = 2;
    static constexpr int kValueHeads = 4;
    static constexpr int kKeyDim = 12;
    static constexpr int kValueDim = 10;
    static constexpr int kRow = 2 * kKeyHeads * kKeyDim + kValueHeads * kValueDim;
    const Values qkv_ = test::make_input(InputFamily::gaussian, kTokens* kRow, 1);
    const Values b_ = test::make_input(InputFamily::gaussian, kTokens* kValueHeads, 2);
    const Values a_ = test::make_input(InputFamily::gaussian, kTokens* kValueHeads, 3);
    const Values a_scale_ = {-0.01f, -0.5f, -5, 0};  // a long memory, two shorter ones, an endless one
    const Values dt_bias_ = {0.5f, -0.5f, 1, 0};
    std::vector<int32_t> key_heads_ = {0, 0, 1, 1};
    const Values start_ = test::make_input(InputFamily::gaussian, kValueHeads* kKeyDim* kValueDim, 4);
    const std::unique_ptr<Backend> backend_ = make_reference_backend();

    struct Outcome {
        Values out = Values(kTokens * kValueHeads * kValueDim);
        Values state;
    };

    void run(DeltaForm form, int first, int count, Outcome& outcome) {
        backend_->gated_delta({.tokens = count,
                               .key_heads = kKeyHeads,
                               .value_heads = kValueHeads,
                               .key_dim = kKeyDim,
                               .value_dim = kValueDim,
                               .qkv = &qkv_[first * kRow],
                               .b = &b_[first * kValueHeads],
                               .a = &a_[first * kValueHeads],
                               .a_scale = a_scale_.data(),
                               .dt_bias = dt_bias_.data(),
                               .key_head_of_value_head = key_heads_.data(),
                               .state = outcome.state.data(),
                               .out = &outcome.out[first * kValueHeads * kValueDim],
                               .form = form});
    }

    Outcome whole(DeltaForm form) {
        Outcome outcome{.state = start_};
        run(form, 0, kTokens, outcome);
        return outcome;
    }

    static void expect_equal(const Outcome& got, const Outcome& want) {
        EXPECT_TRUE(test::within(got.out, want.out, 1e-6 * largest(want.out),
                                 {{"token", kTokens}, {"value head", kValueHeads}, {"value", kValueDim}}));
        EXPECT_TRUE(test::within(got.state, want.state, 1e-6 * largest(want.state),
                                 {{"value head", kValueHeads}, {"key", kKeyDim}, {"value", kValueDim}}));
    }
};

TEST_F(ReferenceGatedDeltaForms, ChunkedEqualsRecurrent) {
    expect_equal(whole(DeltaForm::chunked), whole(DeltaForm::recurrent));
}

TEST_F(ReferenceGatedDeltaForms, CanBeSplitAnywhere) {
    const Outcome want = whole(DeltaForm::recurrent);
    test::Random random(7);
    for (const DeltaForm form : {DeltaForm::recurrent, DeltaForm::chunked}) {
        for (int repeat = 0; repeat < 3; ++repeat) {
            Outcome split{.state = start_};
            for (int first = 0; first < kTokens;) {
                const int count = 1 + static_cast<int>(random.below(kTokens - first));
                run(form, first, count, split);
                first += count;
            }
            expect_equal(split, want);
        }
    }
}

TEST_F(ReferenceGatedDeltaForms, NoTokensChangeNothing) {
    for (const DeltaForm form : {DeltaForm::recurrent, DeltaForm::chunked}) {
        Outcome outcome{.state = start_};
        run(form, 0, 0, outcome);
        EXPECT_EQ(outcome.state, start_);
    }
}

TEST_F(ReferenceGatedDeltaForms, ValueHeadsUseTheKeyHeadTheyAreGiven) {
    const Outcome grouped = whole(DeltaForm::recurrent);
    key_heads_ = {0, 1, 0, 1};  // tiled: heads 1 and 2 change, 0 and 3 stay
    const Outcome tiled = whole(DeltaForm::recurrent);
    for (int head = 0; head < kValueHeads; ++head) {
        const bool same = grouped.out[head * kValueDim] == tiled.out[head * kValueDim];
        EXPECT_EQ(same, head == 0 || head == 3) << "value head " << head;
    }
}

}  // namespace
}  // namespace octavo
