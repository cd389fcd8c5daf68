// Sessions on the GPU, with the bundled model: the same bits twice, near what the CPU says, through live changes of the
// cache, checkpoints and growing contexts. Skipped where there is no GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/cuda/cuda.h"
#include "models/bundled/bundled.h"
#include "models/hybrid/placed_weights.h"
#include "models/model.h"
#include "runtime/session.h"

namespace octavo {
namespace {

using Logits = std::vector<float>;

// A back end with the model on it.
struct Machine {
    std::unique_ptr<Backend> backend;
    PlacedWeights weights;
    std::unique_ptr<Forward> forward;
};

class CudaSessionTest : public testing::Test {
  protected:
    void SetUp() override {
        Result<std::unique_ptr<Backend>> cuda = make_cuda_backend({});
        if (!cuda) GTEST_SKIP() << cuda.error().message;
        Result<std::shared_ptr<const Model>> model = open_model(bundled_model(), "bundled");
        ASSERT_TRUE(model) << model.error().message;
        model_ = *model;
        start(gpu_, std::move(*cuda));
        start(cpu_, make_cpu_backend(8, detect_cpu_isa()));
    }

    void start(Machine& machine, std::unique_ptr<Backend> backend) {
        machine.backend = std::move(backend);
        Result<PlacedWeights> weights = place_weights(model_->config, model_->weights, *machine.backend);
        ASSERT_TRUE(weights) << weights.error().message;
        machine.weights = std::move(*weights);
        Result<Forward> forward = Forward::create(model_->config, machine.weights.weights, *machine.backend, 512);
        ASSERT_TRUE(forward) << forward.error().message;
        machine.forward = std::make_unique<Forward>(std::move(*forward));
    }

    std::unique_ptr<Session> session(Machine& machine, const KvSettings& settings) {
        SessionOptions options;
        options.kv = settings;
        options.context_length = 16384;
        Result<std::unique_ptr<Session>> created = Session::create(model_->config, *machine.forward, options);
        EXPECT_TRUE(created) << created.error().message;
        return std::move(*created);
    }

    std::vector<int32_t> text(int64_t tokens) const {
        std::vector<int32_t> ids;
        uint32_t state = 7;
        for (int64_t i = 0; i < tokens; ++i) {
            state = state * 1664525u + 1013904223u;
            ids.push_back(static_cast<int32_t>(300 + (state >> 8) % 7000));
        }
        return ids;
    }

    // The logits after each of some greedily chosen tokens.
    std::vector<Logits> greedy(Session& session, int tokens) {
        std::vector<Logits> all;
        for (int i = 0; i < tokens; ++i) {
            const auto logits = session.logits();
            const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
            const Status status = session.decode(static_cast<int32_t>(best));
            EXPECT_TRUE(status) << status.error().message;
            all.emplace_back(session.logits().begin(), session.logits().end());
        }
        return all;
    }

    void prefill(Session& session, const std::vector<int32_t>& ids) {
        Job job;
        const Result<PrefillReport> report = session.prefill(ids, {}, job);
        ASSERT_TRUE(report) << report.error().message;
    }

    static double distance(std::span<const float> a, std::span<const float> b) {
        double difference = 0, size = 0;
        for (size_t i = 0; i < b.size(); ++i) {
            difference += std::pow(double{a[i]} - b[i], 2);
            size += std::pow(double{b[i]}, 2);
        }
        return std::sqrt(difference / size);
    }

    std::shared_ptr<const Model> model_;
    Machine gpu_, cpu_;
};

KvSettings settings_of(const char* scheme) { return default_kv_settings(*parse_kv_scheme(scheme)); }

TEST_F(CudaSessionTest, GreedyIsTheSameBitsTwiceAndNearTheCpu) {
    for (const KvSchemeSpec& scheme : kv_schemes()) {
        SCOPED_TRACE(scheme.name);
        const KvSettings settings = default_kv_settings({scheme.k, scheme.v});
        std::vector<Logits> runs[2];
        for (std::vector<Logits>& run : runs) {
            const std::unique_ptr<Session> on_gpu = session(gpu_, settings);
            prefill(*on_gpu, text(600));
            run = greedy(*on_gpu, 40);
        }
        EXPECT_TRUE(runs[0] == runs[1]);
        const std::unique_ptr<Session> on_cpu = session(cpu_, settings);
        prefill(*on_cpu, text(600));
        const std::unique_ptr<Session> on_gpu = session(gpu_, settings);
        prefill(*on_gpu, text(600));
        EXPECT_LE(distance(on_gpu->logits(), on_cpu->logits()), 3e-2);  // rounding decides some codes
    }
}

TEST_F(CudaSessionTest, SampledRepliesAreTheSameTwiceAndThoseOfTheCpuSampler) {
    SamplerOptions options;
    options.top_k = 50;
    options.top_p = 0.95f;
    options.min_p = 0.01f;
    options.repeat_penalty = 1.1f;
    options.seed = 5;
    std::vector<int32_t> replies[3];
    for (int run = 0; run < 3; ++run) {
        const std::unique_ptr<Session> session_of_run = session(gpu_, settings_of("q8_0"));
        Session& on_gpu = *session_of_run;
        prefill(on_gpu, text(300));
        Sampler sampler(options);
        Result<int32_t> id = sampler.sample(on_gpu.logits(), on_gpu.tokens());
        for (int i = 0; i < 60; ++i) {
            ASSERT_TRUE(id) << id.error().message;
            replies[run].push_back(*id);
            if (run < 2) {
                id = on_gpu.decode_and_sample(*id, sampler);
            } else {  // through the logits
                ASSERT_TRUE(on_gpu.decode(*id));
                id = sampler.sample(on_gpu.logits(), on_gpu.tokens());
            }
        }
        EXPECT_EQ(on_gpu.logits().empty(), run < 2);
        ASSERT_TRUE(on_gpu.fetch_logits());
        EXPECT_FALSE(on_gpu.logits().empty());
    }
    EXPECT_EQ(replies[0], replies[1]);
    EXPECT_EQ(replies[0], replies[2]);
}

TEST_F(CudaSessionTest, ChangesOfTheCacheInAConversation) {
    const std::unique_ptr<Session> on_gpu = session(gpu_, settings_of("q8_0"));
    const std::unique_ptr<Session> on_cpu = session(cpu_, settings_of("q8_0"));
    const std::vector<int32_t> ids = text(2100);
    prefill(*on_gpu, ids);
    prefill(*on_cpu, ids);
    for (const char* scheme : {"q6_0", "f16", "q2k", "q4_0", "kivi2", "bf16"}) {
        SCOPED_TRACE(scheme);
        for (Session* each : {on_gpu.get(), on_cpu.get()}) {
            Job job;
            const KvChange change = each->change_kv(settings_of(scheme), job);
            ASSERT_EQ(change.outcome, KvChangeOutcome::changed) << change.error->message;
            for (const int32_t id : {400, 500, 600}) ASSERT_TRUE(each->decode(id));
        }
        EXPECT_LE(distance(on_gpu->logits(), on_cpu->logits()), 5e-2);
    }
}

TEST_F(CudaSessionTest, GoesBackToACheckpoint) {
    const std::unique_ptr<Session> on_gpu = session(gpu_, settings_of("q2k"));
    prefill(*on_gpu, text(333));
    ASSERT_TRUE(on_gpu->checkpoint_here());
    const std::vector<Logits> first = greedy(*on_gpu, 70);
    ASSERT_TRUE(on_gpu->restore(333));
    EXPECT_TRUE(greedy(*on_gpu, 70) == first);
}

TEST_F(CudaSessionTest, WhatDoesNotFitTheBudgetLeavesAWorkingSession) {
    Result<std::unique_ptr<Backend>> small = make_cuda_backend({.budget_bytes = int64_t{160} << 20});
    ASSERT_TRUE(small);
    Machine machine;
    start(machine, std::move(*small));
    const std::unique_ptr<Session> tight = session(machine, settings_of("f32"));
    const std::vector<int32_t> ids = text(1000);
    prefill(*tight, ids);
    const std::vector<Logits> before = greedy(*tight, 1);
    Job job;
    const Result<PrefillReport> refused = tight->prefill(text(16000), {}, job);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::memory) << refused.error().message;
    prefill(*tight, ids);
    EXPECT_TRUE(greedy(*tight, 1) == before);
}

}  // namespace
}  // namespace octavo
