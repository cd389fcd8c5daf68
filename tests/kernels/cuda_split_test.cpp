// What a GPU and the CPU do for each other: copies that run ahead of products, and ordinary code between operations,
// called one by one and in recorded passes. Skipped where there is no GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/cuda/cuda.h"
#include "kernels/forwarding_backend.h"
#include "kernels/placed_ffn.h"
#include "kernels/split_backend.h"
#include "tests/support/inputs.h"

namespace octavo::test {
namespace {

constexpr int kHidden = 512, kFf = 256, kExperts = 40, kTopK = 6, kStreamedTokens = 8;

// A GPU whose copies wait for each other.
class WithoutCopiesAhead final : public ForwardingBackend {
  public:
    using ForwardingBackend::ForwardingBackend;
};

class CudaSplit : public testing::Test {
  protected:
    CudaSplit() {
        for (int i = 0; i < 3 * kExperts; i += 3) {
            const WeightType type = i % 2 == 0 ? WeightType::q4_k : WeightType::q8_0;
            matrices_.emplace_back(type, kFf, kHidden, InputFamily::gaussian, 1 + i);
            matrices_.emplace_back(type, kFf, kHidden, InputFamily::gaussian, 2 + i);
            matrices_.emplace_back(type, kHidden, kFf, InputFamily::gaussian, 3 + i);
        }
        for (size_t i = 0; i < matrices_.size(); i += 3)
            host_.push_back({matrices_[i].view(), matrices_[i + 1].view(), matrices_[i + 2].view()});
        for (const FfnMatrices& expert : host_) absent_.push_back(absent_ffn(expert));
    }

    std::unique_ptr<Backend> split(std::unique_ptr<Backend> gpu) const {
        SplitOptions options;
        options.hidden = kHidden;
        options.experts = kExperts;
        options.slice_bytes = 3 * placed_ffn_bytes(host_[1]);
        options.streamed_tokens = kStreamedTokens;
        options.uploads.pieces = 3;
        options.uploads.piece_bytes = 200000;
        options.experts_yield = {[] { return size_t{0}; }, [](size_t) {}};
        Result<std::unique_ptr<Backend>> backend =
            make_split_backend(std::move(gpu), make_cpu_backend(4, detect_cpu_isa()), options);
        EXPECT_TRUE(backend) << backend.error().message;
        return std::move(*backend);
    }

    std::vector<TestMatrix> matrices_;
    std::vector<FfnMatrices> host_, absent_;
};

// Arrays on the GPU for a feed-forward part that comes again and again.
class Layer {
  public:
    Layer(Backend& backend, int tokens, std::span<const FfnMatrices> host, std::span<const FfnMatrices> absent)
        : memory_(backend.memory()), tokens_(tokens) {
        op_.tokens = tokens;
        op_.hidden = kHidden;
        op_.top_k = kTopK;
        op_.experts = absent;
        op_.host_experts = host;
        op_.x = x_ = floats(kHidden);
        op_.router_logits = logits_ = floats(kExperts);
        op_.y = floats(kHidden);
    }
    void renew(uint64_t seed) {
        fill(x_, kHidden, seed);
        fill(logits_, kExperts, seed + 1);
        fill(op_.y, kHidden, seed + 2);
    }
    const Moe& op() const { return op_; }
    std::vector<float> results() const {
        std::vector<float> values(static_cast<size_t>(tokens_) * kHidden);
        memory_.download(values.data(), op_.y, values.size() * sizeof(float));
        return values;
    }

  private:
    float* floats(int64_t width) {
        Result<Buffer> buffer = memory_.allocate(static_cast<size_t>(tokens_ * width) * sizeof(float), "a test");
        EXPECT_TRUE(buffer);
        buffers_.push_back(std::move(*buffer));
        return buffers_.back().as<float>();
    }
    void fill(float* to, int64_t width, uint64_t seed) const {
        const std::vector<float> values = make_input(InputFamily::gaussian, tokens_ * width, seed);
        memory_.upload(to, values.data(), values.size() * sizeof(float));
    }

    Memory& memory_;
    int tokens_;
    Moe op_;
    float *x_, *logits_;
    std::vector<Buffer> buffers_;
};

TEST_F(CudaSplit, CopiesThatRunAheadGiveTheBitsOfThoseThatWait) {
    Result<std::unique_ptr<Backend>> first = make_cuda_backend({});
    if (!first) GTEST_SKIP() << first.error().message;
    Result<std::unique_ptr<Backend>> second = make_cuda_backend({});
    ASSERT_TRUE(second);
    const std::unique_ptr<Backend> ahead = split(std::move(*first));
    const std::unique_ptr<Backend> plain = split(std::make_unique<WithoutCopiesAhead>(std::move(*second)));
    for (const int tokens : {kStreamedTokens, 300}) {
        Layer here(*ahead, tokens, host_, absent_);
        Layer there(*plain, tokens, host_, absent_);
        for (uint64_t pass = 0; pass < 20; ++pass) {
            for (Layer* layer : {&here, &there}) layer->renew(10 * pass);
            for (int i = 0; i < 3; ++i) {  // one after the other, as layers do, so that copies of the next run ahead
                ahead->moe(here.op());
                plain->moe(there.op());
            }
            ASSERT_TRUE(ahead->finish());
            ASSERT_TRUE(plain->finish());
            ASSERT_EQ(here.results(), there.results()) << tokens << " tokens, pass " << pass;
        }
    }
}

TEST_F(CudaSplit, ExpertsOfTheCpuAreTheSameBitsHoweverItIsStarted) {
    std::vector<std::vector<float>> want;
    for (const bool by_driver : {true, false}) {
        Result<std::unique_ptr<Backend>> gpu = make_cuda_backend({.host_by_driver = by_driver});
        if (!gpu) GTEST_SKIP() << gpu.error().message;
        const std::unique_ptr<Backend> backend = split(std::move(*gpu));
        size_t at = 0;
        for (const bool recorded : {false, true}) {
            for (const int tokens : {1, kStreamedTokens - 1}) {
                Layer layer(*backend, tokens, host_, absent_);
                const uint64_t key[] = {static_cast<uint64_t>(tokens)};
                const auto pass = [&] {
                    for (int i = 0; i < 10; ++i) backend->moe(layer.op());
                };
                for (uint64_t i = 0; i < 30; ++i) {
                    layer.renew(10 * i);
                    if (recorded) {
                        backend->repeat(key, static_cast<int64_t>(i), pass);
                    } else {
                        pass();
                    }
                    ASSERT_TRUE(backend->finish());
                    if (want.size() < 60) {
                        want.push_back(layer.results());
                    } else {
                        ASSERT_EQ(layer.results(), want[at % 60]) << (by_driver ? "by the driver" : "by flags")
                                                                  << ", pass " << i << ", recorded " << recorded;
                    }
                    ++at;
                }
            }
        }
    }
}

}  // namespace
}  // namespace octavo::test
