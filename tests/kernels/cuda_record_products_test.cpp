// Recorded passes of products and experts of one token, whose kernels may start before those before them have ended:
// the bits must be those of the same operations one by one.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/cuda/cuda.h"
#include "kernels/random_weights.h"
#include "tests/support/compare.h"
#include "tests/support/device_arrays.h"

namespace octavo::test {
namespace {

constexpr int kHidden = 1024, kWidth = 512, kExperts = 8, kChosen = 3, kLayers = 4, kPasses = 30;

// A product, experts and a product, one after the other, each with the results of the one before.
class Chain {
  public:
    explicit Chain(Backend& backend) : backend_(backend), arrays_(backend.memory()) {
        x_ = arrays_.floats(kHidden, 1);
        router_ = arrays_.floats(kExperts, 2);
        for (float** row : {&a_, &b_, &y_}) *row = arrays_.floats(kHidden, 3);
        first_ = matrix(WeightType::q4_k, kHidden, kHidden, 4);
        last_ = matrix(WeightType::q8_0, kHidden, kHidden, 5);
        // Of each expert gate, up and down, one after the other.
        std::byte* const experts = arrays_.take(kExperts * kExpertBytes);
        for (uint64_t e = 0; e < kExperts; ++e) {
            std::byte* const at = experts + e * kExpertBytes;
            FfnMatrices ffn{{WeightType::q4_k, at, kWidth, kHidden},
                            {WeightType::q4_k, at + kWideBytes, kWidth, kHidden},
                            {WeightType::q6_k, at + 2 * kWideBytes, kHidden, kWidth}};
            for (const Matrix* w : {&ffn.gate, &ffn.up, &ffn.down}) fill(*w, 10 + e);
            experts_.push_back(ffn);
        }
    }

    void pass() {
        for (int i = 0; i < kLayers; ++i) {
            multiply(first_, i == 0 ? x_ : y_, a_);
            Moe moe = {};
            moe.tokens = 1;
            moe.hidden = kHidden;
            moe.top_k = kChosen;
            moe.experts = experts_;
            moe.x = a_;
            moe.router_logits = router_;
            moe.y = b_;
            multiply(first_, a_, b_);
            backend_.moe(moe);
            multiply(last_, b_, y_);
        }
    }

    void renew(uint64_t seed) {
        for (float* row : {x_, router_}) {
            arrays_.fill(row, row == x_ ? kHidden : kExperts, seed++);
        }
    }
    std::vector<float> results() const { return arrays_.values(y_, kHidden); }

  private:
    static constexpr int64_t kWideBytes = int64_t{kWidth} * kHidden / 256 * 144;
    static constexpr int64_t kExpertBytes = 2 * kWideBytes + int64_t{kWidth} * kHidden / 256 * 210;

    void multiply(const Matrix& w, const float* x, float* y) {
        const MatmulTarget target{w, y, w.rows, false};
        backend_.matmul(x, 1, {&target, 1});
    }
    void fill(const Matrix& w, uint64_t seed) {
        std::vector<std::byte> bytes(static_cast<size_t>(w.bytes()));
        fill_random_weights(w.type, w.rows * w.row_blocks(), 0.05f, seed, bytes.data());
        backend_.memory().upload(const_cast<std::byte*>(w.data), bytes.data(), bytes.size());
    }
    Matrix matrix(WeightType type, int64_t rows, int64_t cols, uint64_t seed) {
        Matrix w{type, nullptr, rows, cols};
        w.data = arrays_.take(w.bytes());
        fill(w, seed);
        return w;
    }

    Backend& backend_;
    DeviceArrays arrays_;
    Matrix first_, last_;
    std::vector<FfnMatrices> experts_;
    float *x_, *router_, *a_, *b_, *y_;
};

}  // namespace

TEST(CudaRecord, ProductsAreTheSameBits) {
    Result<std::unique_ptr<Backend>> backend = make_cuda_backend({});
    if (!backend) GTEST_SKIP() << backend.error().message;
    Chain one_by_one(**backend);
    Chain recorded(**backend);
    const uint64_t key[] = {1};
    for (int i = 0; i < kPasses; ++i) {
        for (Chain* chain : {&one_by_one, &recorded}) chain->renew(static_cast<uint64_t>(100 + 2 * i));
        one_by_one.pass();
        (*backend)->repeat(key, 0, [&] { recorded.pass(); });
        ASSERT_TRUE((*backend)->finish());
        const std::vector<float> want = one_by_one.results();
        ASSERT_TRUE(std::isfinite(want.front()));
        ASSERT_TRUE(same_bits(recorded.results(), want, {{"value", std::ssize(want)}})) << "pass " << i;
    }
}

}  // namespace octavo::test
