// Experts in two places give what they give in one, wherever each of them lies and whatever travels.
#include "kernels/split_backend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/placed_ffn.h"
#include "tests/support/compare.h"
#include "tests/support/fake_device.h"
#include "tests/support/inputs.h"

namespace octavo {
namespace {

using test::InputFamily;
using test::make_input;
using test::TestMatrix;

constexpr int kHidden = 64;
constexpr int kFf = 32;
constexpr int kExperts = 9;
constexpr int kTopK = 4;
constexpr int kStreamedTokens = 8;

class SplitBackendTest : public testing::Test {
  protected:
    SplitBackendTest() {
        for (uint64_t i = 0; i <= kExperts; ++i) {  // the last is the shared one
            for (const auto& [rows, cols] :
                 {std::pair(kFf, kHidden), std::pair(kFf, kHidden), std::pair(kHidden, kFf)}) {
                matrices_.emplace_back(WeightType::q8_0, rows, cols, InputFamily::gaussian, 1 + matrices_.size());
            }
        }
        for (size_t i = 0; i < matrices_.size(); i += 3)
            ffns_.push_back({matrices_[i].view(), matrices_[i + 1].view(), matrices_[i + 2].view()});
    }

    std::unique_ptr<Backend> split(int64_t experts_a_slice) const {
        SplitOptions options;
        options.hidden = kHidden;
        options.experts = kExperts;
        options.slice_bytes = experts_a_slice * placed_ffn_bytes(ffns_[0]);
        options.streamed_tokens = kStreamedTokens;
        options.experts_yield = {[] { return size_t{0}; }, [](size_t) {}};
        Result<std::unique_ptr<Backend>> backend =
            make_split_backend(test::fake_device({}), make_cpu_backend(2, detect_cpu_isa()), options);
        EXPECT_TRUE(backend);
        return std::move(*backend);
    }

    // Those whose bit is set in `on_host` are left to the CPU.
    std::vector<float> run(Backend& backend, int tokens, unsigned on_host) const {
        std::vector<FfnMatrices> device(ffns_.begin(), ffns_.begin() + kExperts);
        std::vector<FfnMatrices> host = device;
        for (size_t e = 0; e < kExperts; ++e) {
            FfnMatrices& left = on_host >> e & 1 ? device[e] : host[e];
            left = absent_ffn(left);
        }
        const std::vector<float> x = make_input(InputFamily::gaussian, int64_t{tokens} * kHidden, 100);
        const std::vector<float> logits = make_input(InputFamily::gaussian, int64_t{tokens} * kExperts, 101);
        const std::vector<float> gate = make_input(InputFamily::gaussian, tokens, 102);
        std::vector<float> y = make_input(InputFamily::gaussian, int64_t{tokens} * kHidden, 103);
        Moe op;
        op.tokens = tokens;
        op.hidden = kHidden;
        op.top_k = kTopK;
        op.experts = device;
        if (on_host != 0) op.host_experts = host;
        op.shared = &ffns_.back();
        op.x = x.data();
        op.router_logits = logits.data();
        op.shared_gate = gate.data();
        op.y = y.data();
        backend.moe(op);
        EXPECT_TRUE(backend.finish());
        return y;
    }

    std::vector<TestMatrix> matrices_;
    std::vector<FfnMatrices> ffns_;
};

TEST_F(SplitBackendTest, GivesWhatOnePlaceGives) {
    const std::unique_ptr<Backend> one_place = make_cpu_backend(1, detect_cpu_isa());
    for (const int64_t experts_a_slice : {1, 2, 4, 100}) {
        const std::unique_ptr<Backend> backend = split(experts_a_slice);
        for (const int tokens : {1, 3, kStreamedTokens - 1, kStreamedTokens, 40}) {
            const std::vector<float> want = run(*one_place, tokens, 0);
            for (const unsigned on_host : {0u, 1u, 0x100u, 0x0aau, 0x155u, 0x1feu, 0x1ffu}) {
                EXPECT_TRUE(
                    test::within(run(*backend, tokens, on_host), want, 1e-3, {{"token", tokens}, {"column", kHidden}}))
                    << experts_a_slice << " experts a slice, on the host " << on_host;
            }
        }
    }
}

TEST_F(SplitBackendTest, TheSameCallsGiveTheSameBits) {
    const std::unique_ptr<Backend> first = split(2);
    const std::unique_ptr<Backend> second = split(2);
    for (const int tokens : {1, 5, 40, 1}) {
        EXPECT_EQ(run(*first, tokens, 0x0f5), run(*second, tokens, 0x0f5)) << tokens;
        EXPECT_EQ(run(*first, tokens, 0x0f5), run(*second, tokens, 0x0f5)) << tokens;
    }
}

TEST_F(SplitBackendTest, AskedForRoomExpertsGiveWay) {
    SplitOptions options;
    options.slice_bytes = 100;
    size_t held = 3000;
    options.experts_yield = {[&] { return held; }, [&](size_t bytes) { held -= std::min(held, bytes); }};
    const Result<std::unique_ptr<Backend>> backend =
        make_split_backend(test::fake_device({.budget_bytes = 1100}), make_cpu_backend(1, detect_cpu_isa()), options);
    ASSERT_TRUE(backend);
    Memory& memory = (*backend)->memory();
    EXPECT_EQ(memory.free_bytes(), 4000u);
    EXPECT_TRUE(memory.room_for(1000, "what is there"));
    EXPECT_EQ(held, 3000u) << "nobody was in need";
    // The fake device gives nothing back here, so the request is refused in the end: but only then.
    EXPECT_FALSE(memory.allocate(1500, "more"));
    EXPECT_EQ(held, 2500u);
    EXPECT_FALSE(memory.allocate(100000, "more than there can ever be"));
    EXPECT_EQ(held, 2500u) << "in vain";
}

}  // namespace
}  // namespace octavo
