// Tokens drawn on the GPU are those that the CPU draws, whatever the filters, ties and odd logits. Skipped where there
// is no GPU.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <random>

#include "kernels/cuda/cuda.h"
#include "runtime/sampler.h"

namespace octavo {
namespace {

class CudaSamplingTest : public testing::Test {
  protected:
    void SetUp() override {
        Result<std::unique_ptr<Backend>> cuda = make_cuda_backend({});
        if (!cuda) GTEST_SKIP() << cuda.error().message;
        backend_ = std::move(*cuda);
    }

    // -1 where there is nothing to pick.
    int32_t on_gpu(const std::vector<float>& logits, Sampler& sampler, std::span<const int32_t> history) {
        Memory& memory = backend_->memory();
        Result<Buffer> logits_there = memory.allocate(logits.size() * sizeof(float), "logits");
        Result<Buffer> input_there = memory.allocate(sizeof(DrawInput), "input");
        Result<Buffer> id_there = memory.allocate(sizeof(int32_t), "id");
        memory.upload(logits_there->data(), logits.data(), logits_there->bytes());
        DrawInput input;
        sampler.fill(input, static_cast<int64_t>(logits.size()), history.first(history.size() - 1), history.back());
        memory.upload(input_there->data(), &input, sizeof input);
        int32_t id = -2;
        memory.upload(id_there->data(), &id, sizeof id);
        backend_->sample({logits_there->as<float>(), static_cast<int>(logits.size()), sampler.rule(),
                          input_there->as<DrawInput>(), id_there->as<int32_t>()});
        memory.download(&id, id_there->data(), sizeof id);
        std::vector<float> left(logits.size());
        memory.download(left.data(), logits_there->data(), logits_there->bytes());
        EXPECT_EQ(std::memcmp(left.data(), logits.data(), logits_there->bytes()), 0) << "the logits were changed";
        EXPECT_TRUE(backend_->finish());
        return id;
    }

    std::unique_ptr<Backend> backend_;
};

SamplerOptions some_options(std::mt19937& random) {
    const auto one_of = [&](auto... values) {
        const std::common_type_t<decltype(values)...> all[] = {values...};
        return all[random() % sizeof...(values)];
    };
    SamplerOptions options;
    options.temperature = one_of(0.0f, 0.3f, 0.7f, 1.0f, 2.0f, 30.0f);
    options.top_k = one_of(0, 0, 1, 20, 64, 1000, 1 << 20);
    options.top_p = one_of(1.0f, 1.0f, 0.1f, 0.8f, 0.95f, 0.9999f);
    options.min_p = one_of(0.0f, 0.0f, 0.05f, 0.5f, 1.0f);
    options.repeat_penalty = one_of(1.0f, 1.1f, 0.5f);
    options.repeat_window = one_of(0, 1, 64, 1 << 20);
    options.seed = random();
    return options;
}

std::vector<float> some_logits(std::mt19937& random, size_t count) {
    std::normal_distribution<float> normal(0, 4);
    std::vector<float> logits(count);
    const bool ties = random() % 2 == 0;
    for (float& logit : logits) logit = ties ? std::round(normal(random) * 4) / 4 : normal(random);
    if (random() % 4 == 0) {
        logits[random() % count] = std::numeric_limits<float>::quiet_NaN();
        logits[random() % count] = -std::numeric_limits<float>::infinity();
        logits[random() % count] = -0.0f;
    }
    if (random() % 16 == 0) logits[random() % count] = std::numeric_limits<float>::infinity();
    return logits;
}

TEST_F(CudaSamplingTest, PicksWhatTheCpuPicks) {
    std::mt19937 random(11);
    for (const size_t vocab : {1, 2, 37, 300, 8192, 100001, 248320}) {
        for (int round = 0; round < (vocab > 50000 ? 60 : 200); ++round) {
            const std::vector<float> logits = some_logits(random, vocab);
            std::vector<int32_t> history(1 + random() % 300);
            for (int32_t& id : history) id = static_cast<int32_t>(random() % vocab);
            const SamplerOptions options = some_options(random);
            Sampler cpu(options);
            Sampler gpu(options);
            for (int draw = 0; draw < 3; ++draw) {
                const Result<int32_t> wanted = cpu.sample(logits, history);
                ASSERT_EQ(on_gpu(logits, gpu, history), wanted ? *wanted : -1)
                    << vocab << " logits, round " << round << ", temperature " << options.temperature << ", top-k "
                    << options.top_k << ", top-p " << options.top_p << ", min-p " << options.min_p << ", penalty "
                    << options.repeat_penalty << " over " << options.repeat_window;
            }
        }
    }
}

TEST_F(CudaSamplingTest, SaysWhereNoLogitIsANumber) {
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
        Sampler sampler(SamplerOptions{});
        EXPECT_EQ(on_gpu(std::vector<float>(1000, bad), sampler, std::vector<int32_t>{0}), -1);
    }
}

}  // namespace
}  // namespace octavo
