#include <gtest/gtest.h>
#include <cmath>
#include <vector>

#include "kernels/backend.h"
#include "tests/support/compare.h"
#include "tests/support/inputs.h"

namespace octavo {
namespace {

using test::InputFamily;
using Values = std::vector<float>;

constexpr int kHeads = 4;
constexpr int kKvHeads = 2;
constexpr int kDim = 8;
constexpr int kCells = 9;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// A float32 cache and one set of inputs; the tests change single inputs and look at what follows.
class ReferenceAttention : public testing::Test {
  protected:
    const std::unique_ptr<Backend> backend_ = make_reference_backend();
    Values q_ = test::make_input(InputFamily::gaussian, kCells* kHeads* kDim, 1);
    Values q_gate_ = test::make_input(InputFamily::gaussian, kCells* kHeads * 2 * kDim, 2);
    Values k_ = test::make_input(InputFamily::gaussian, kCells* kKvHeads* kDim, 3);
    Values v_ = test::make_input(InputFamily::gaussian, kCells* kKvHeads* kDim, 4);

    // Stores and attends cells [0, cells), `pass` at a time: out [cells][heads][dim].
    Values run(int cells, int pass) {
        Values k_pool(k_.size());
        Values v_pool(v_.size());
        KvView cache;
        cache.kv_heads = kKvHeads;
        cache.head_dim = kDim;
        cache.k.format = cache.v.format = KvFormat::f32;
        cache.k.payload = reinterpret_cast<std::byte*>(k_pool.data());
        cache.v.payload = reinterpret_cast<std::byte*>(v_pool.data());
        Values out(static_cast<size_t>(cells * kHeads * kDim));
        for (int first = 0; first < cells; first += pass) {
            const int count = std::min(pass, cells - first);
            backend_->kv_store({.cache = cache,
                                .first_cell = first,
                                .tokens = count,
                                .k = &k_[first * kKvHeads * kDim],
                                .v = &v_[first * kKvHeads * kDim]});
            backend_->attention({.cache = cache,
                                 .first_cell = first,
                                 .tokens = count,
                                 .heads = kHeads,
                                 .q = &q_[first * kHeads * kDim],
                                 .q_gate = &q_gate_[first * kHeads * 2 * kDim],
                                 .out = &out[first * kHeads * kDim]});
        }
        return out;
    }
};

const std::vector<test::Dimension> kShape = {{"token", kCells}, {"head", kHeads}, {"value", kDim}};

TEST_F(ReferenceAttention, OfOneCellIsItsValueTimesTheGate) {
    const Values out = run(1, 1);
    Values want;
    for (int head = 0; head < kHeads; ++head) {
        for (int i = 0; i < kDim; ++i) {
            const double gate = q_gate_[head * 2 * kDim + kDim + i];
            want.push_back(static_cast<float>(v_[head / 2 * kDim + i] * sigmoid(gate)));
        }
    }
    EXPECT_TRUE(test::within(out, want, 1e-7, {{"head", kHeads}, {"value", kDim}}));
}

TEST_F(ReferenceAttention, OfTwoCellsWeighsByTheScores) {
    const Values out = run(2, 2);
    const auto score = [&](int cell) {
        double sum = 0;
        for (int i = 0; i < kDim; ++i) {
            sum += static_cast<double>(q_[(kHeads + 3) * kDim + i]) * k_[(cell * kKvHeads + 1) * kDim + i];
        }
        return sum / std::sqrt(static_cast<double>(kDim));
    };
    const double second = sigmoid(score(1) - score(0));  // softmax of two
    for (int i = 0; i < kDim; ++i) {
        const double mean = v_[kDim + i] * (1 - second) + v_[(kKvHeads + 1) * kDim + i] * second;
        const double gate = q_gate_[(kHeads + 3) * 2 * kDim + kDim + i];
        EXPECT_NEAR(out[(kHeads + 3) * kDim + i], mean * sigmoid(gate), 1e-6) << "token 1, head 3, value " << i;
    }
}

TEST_F(ReferenceAttention, DoesNotDependOnHowTokensArePassed) {
    const Values whole = run(kCells, kCells);
    for (const int pass : {1, 2, 4}) EXPECT_TRUE(test::same_bits(run(kCells, pass), whole, kShape));
}

TEST_F(ReferenceAttention, DoesNotLookAhead) {
    const Values before = run(kCells, kCells);
    k_[(kCells - 1) * kKvHeads * kDim] += 100;
    v_[(kCells - 1) * kKvHeads * kDim] += 100;
    const Values after = run(kCells, kCells);
    const size_t earlier = (kCells - 1) * kHeads * kDim;
    EXPECT_EQ(Values(before.begin(), before.begin() + earlier), Values(after.begin(), after.begin() + earlier));
    EXPECT_NE(before, after);
}

// The same vector added to every key adds the same number to all scores of a query.
TEST_F(ReferenceAttention, DoesNotChangeWhenAllScoresShift) {
    const Values before = run(kCells, kCells);
    for (size_t i = 0; i < k_.size(); ++i) k_[i] += 0.25f * static_cast<float>(i % kDim);
    EXPECT_TRUE(test::within(run(kCells, kCells), before, 1e-5, kShape));
}

TEST_F(ReferenceAttention, SurvivesScoresFarBeyondTheRangeOfExp) {
    for (float& value : q_) value *= 1e6f;
    for (const float value : run(kCells, kCells)) ASSERT_TRUE(std::isfinite(value));
}

}  // namespace
}  // namespace octavo
