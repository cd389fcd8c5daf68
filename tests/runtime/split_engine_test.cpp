// Engines on a device that is too small for all experts: who computes them, and who gives way to whom.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/placed_ffn.h"
#include "runtime/engine.h"
#include "tests/support/fake_device.h"
#include "tests/support/random_model.h"

namespace octavo {
namespace {

constexpr int kLayers = 8;

class SplitEngine : public testing::Test {
  protected:
    SplitEngine() {
        for (const LayerWeights& layer : model_->weights.layers) {
            for (const FfnMatrices& expert : layer.ffn.experts) expert_bytes_ += placed_ffn_bytes(expert);
        }
        whole_ = start(0);
        (void)whole_->call("", [&](Session& session) -> Status {
            whole_bytes_ = static_cast<int64_t>(session.backend().memory().taken_bytes());
            return {};
        });
    }

    std::unique_ptr<Engine> start(int64_t budget_bytes) const {
        EngineOptions options;
        options.gpu_budget_bytes = budget_bytes;
        options.session.kv = default_kv_settings(*parse_kv_scheme("f32"));
        options.session.prefill_chunk = options.split_prefill_chunk = 256;
        const auto open = [](int64_t budget) -> Result<std::unique_ptr<Backend>> {
            return test::fake_device({.budget_bytes = budget});
        };
        Result<std::unique_ptr<Engine>> engine = Engine::create_within_budget(model_, options, open);
        EXPECT_TRUE(engine) << engine.error().message;
        return std::move(*engine);
    }

    static std::vector<int32_t> reply(Engine& engine, int64_t prompt_tokens) {
        GenerateRequest request;
        request.prompt = std::vector<int32_t>(static_cast<size_t>(prompt_tokens), 'x');
        request.max_tokens = 30;
        request.sampler.temperature = 0;
        const auto generation = engine.generate(request);
        if (generation->report()) return (*generation->report()).ids;
        ADD_FAILURE() << generation->report().error().message;
        return {};
    }

    static void read(Engine& engine, const std::string& conversation, int64_t tokens) {
        const Status status = engine.call(conversation, [&](Session& session) -> Status {
            Job job;
            const std::vector<int32_t> ids(static_cast<size_t>(tokens), 'y');
            const Result<PrefillReport> report = session.prefill(ids, {}, job);
            return report ? Status() : Status(report.error());
        });
        EXPECT_TRUE(status) << status.error().message;
    }

    static void expect_every_byte_on_a_line(Engine& engine) {
        (void)engine.call("", [&](Session& session) -> Status {
            const auto taken = static_cast<int64_t>(session.backend().memory().taken_bytes());
            const std::vector<MemoryLine> lines = memory_plan(engine.model(), session, engine.memory());
            EXPECT_EQ(committed_bytes_at("gpu", lines), taken);
            return {};
        });
    }

    std::shared_ptr<const Model> model_ = test::random_model(1, 65536, 1024);
    int64_t expert_bytes_ = 0;
    std::unique_ptr<Engine> whole_;
    int64_t whole_bytes_ = 0;
};

TEST_F(SplitEngine, ExpertsThatFindNoRoomStayWithTheCpu) {
    const std::unique_ptr<Engine> split = start(whole_bytes_ - expert_bytes_ / 2);
    const EngineInfo& info = split->info();
    EXPECT_EQ(info.device, "cuda");
    EXPECT_EQ(info.split_layers, kLayers);
    EXPECT_GT(split->device_expert_layers(), 0) << info.backend;
    EXPECT_LT(split->device_expert_layers(), kLayers);
    EXPECT_NE(info.backend.find("of 8 layers on the GPU"), std::string::npos) << info.backend;
    const EngineMemory memory = split->memory();
    EXPECT_GT(memory.host_expert_bytes, 0);
    EXPECT_EQ(memory.host_expert_bytes + memory.device_expert_bytes, expert_bytes_);
    for (const int64_t prompt : {5, 70, 600}) EXPECT_EQ(reply(*split, prompt), reply(*whole_, prompt)) << prompt;
}

TEST_F(SplitEngine, AnEngineWithRoomForNoneOfThemWorks) {
    const std::unique_ptr<Engine> split = start(whole_bytes_ - expert_bytes_ * 3 / 4);
    EXPECT_EQ(split->memory().device_expert_bytes, 0);
    EXPECT_EQ(split->memory().host_expert_bytes, expert_bytes_);
    EXPECT_EQ(reply(*split, 100), reply(*whole_, 100));
}

TEST_F(SplitEngine, ExpertsGiveWayToConversationsAndComeBack) {
    const std::unique_ptr<Engine> split = start(whole_bytes_ - expert_bytes_ / 4);
    const int before = split->device_expert_layers();
    expect_every_byte_on_a_line(*split);
    const std::vector<std::string> conversations = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"};
    for (const std::string& conversation : conversations) read(*split, conversation, 5);
    EXPECT_LT(split->device_expert_layers(), before);
    EXPECT_EQ(reply(*split, 40), reply(*whole_, 40)) << "with fewer layers on the device";

    for (const std::string& conversation : conversations) split->close_session(conversation);
    expect_every_byte_on_a_line(*split);
    EXPECT_EQ(split->device_expert_layers(), before);
    EXPECT_EQ(reply(*split, 40), reply(*whole_, 40));
}

TEST_F(SplitEngine, TheLongestContextDoesNotCountExpertsThatGiveWay) {
    const std::unique_ptr<Engine> split = start(whole_bytes_ - expert_bytes_ / 2);
    const EngineInfo& info = split->info();
    const int64_t fits = largest_context(*model_, {}, info.kv, split->memory(), static_cast<int64_t>(info.free_bytes));
    ASSERT_LT(fits, 65536);
    read(*split, "", fits);
    EXPECT_EQ(split->memory().device_expert_bytes, 0);
}

}  // namespace
}  // namespace octavo
