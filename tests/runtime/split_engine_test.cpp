// Engines on a device that is too small for all experts: who computes them, and who gives way to whom.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <memory>
#include <string>
#include <vector>

#include "kernels/placed_ffn.h"
#include "kernels/split_backend.h"
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
        Result<std::unique_ptr<Engine>> engine = try_to_start(budget_bytes, {one_expert(), one_expert()});
        EXPECT_TRUE(engine) << engine.error().message;
        return std::move(*engine);
    }

    int64_t one_expert() const { return placed_ffn_bytes(model_->weights.layers[0].ffn.experts[0]); }

    Result<std::unique_ptr<Engine>> try_to_start(int64_t budget_bytes, std::array<int64_t, 2> slice_bytes) const {
        EngineOptions options;
        options.split_slice_bytes = slice_bytes;
        options.gpu_budget_bytes = budget_bytes;
        options.session.kv = default_kv_settings(*parse_kv_scheme("f32"));
        options.session.prefill_chunk = options.device_prefill_chunk = 256;
        const auto open = [](int64_t budget) -> Result<std::unique_ptr<Backend>> {
            return test::fake_device({.budget_bytes = budget});
        };
        return Engine::create_within_budget(model_, options, open);
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
    for (const int64_t prompt : {5, 70, 300, 600}) EXPECT_EQ(reply(*split, prompt), reply(*whole_, prompt)) << prompt;
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
    split->close_session("");
    EXPECT_EQ(reply(*split, 40), reply(*whole_, 40));
    EXPECT_EQ(split->device_expert_layers(), before);
    expect_every_byte_on_a_line(*split);
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

// What travels has lines too: slices on the device, what they are gathered in beside the CPU's own scratch in ordinary
// memory.
TEST_F(SplitEngine, WhatTravelsIsOnLinesOfThePlan) {
    const EngineMemory memory = start(whole_bytes_ - expert_bytes_ / 2)->memory();
    EXPECT_GT(memory.scratch_bytes, 2 * one_expert());
    EXPECT_GT(memory.host_scratch_bytes, static_cast<int64_t>(SplitOptions().uploads.staging_bytes()));
    int64_t on_host = 0;
    for (const MemoryLine& line : planned_memory(*model_, {}, 100, memory)) {
        if (line.kind == MemoryLineKind::scratch && line.where == "cpu") on_host += line.committed_bytes;
    }
    EXPECT_EQ(on_host, memory.host_scratch_bytes);
}

// Slices are made smaller before a model is refused, and the smallest budget is one with those.
TEST_F(SplitEngine, ABudgetThatIsBarelyEnoughHasSmallSlices) {
    const int64_t layer = expert_bytes_ / kLayers;
    const std::array<int64_t, 2> sizes = {layer, one_expert()};
    const auto least_of = [&](std::array<int64_t, 2> slice_bytes) {
        const Result<std::unique_ptr<Engine>> refused = try_to_start(expert_bytes_ / 100, slice_bytes);
        EXPECT_FALSE(refused);
        const std::string message = refused ? "" : refused.error().message;
        const size_t at = message.find(" MiB is the smallest");
        EXPECT_NE(at, std::string::npos) << message;
        return at == std::string::npos ? 0 : std::stoll(message.substr(message.rfind(' ', at - 1) + 1)) << 20;
    };
    const int64_t least = least_of(sizes);
    EXPECT_LT(least, least_of({layer, layer}));
    const Result<std::unique_ptr<Engine>> smallest = try_to_start(least, sizes);
    ASSERT_TRUE(smallest) << smallest.error().message;
    EXPECT_EQ(reply(**smallest, 300), reply(*whole_, 300));
    expect_every_byte_on_a_line(**smallest);
}

TEST_F(SplitEngine, ACancelledPromptLeavesASessionThatGoesOn) {
    const std::unique_ptr<Engine> split = start(whole_bytes_ - expert_bytes_ / 2);
    const std::vector<int32_t> ids(1000, 'x');
    const Status status = split->call("", [&](Session& session) -> Status {
        Job job;
        const auto cancel = [&job](int64_t, int, const float*) { job.cancel(); };  // after the first pass
        const Status appended = session.append(ids, 1000, cancel, job);
        EXPECT_EQ(session.position(), 256);
        EXPECT_FALSE(appended);
        return !appended && appended.error().kind == ErrorKind::cancelled ? Status() : appended;
    });
    EXPECT_TRUE(status) << status.error().message;
    EXPECT_EQ(reply(*split, 1000), reply(*whole_, 1000));
    expect_every_byte_on_a_line(*split);
}

// A larger format in the middle of a conversation takes room that experts held, between two replies of it.
TEST_F(SplitEngine, ALiveChangeOfTheFormatTakesExpertsRoom) {
    const std::unique_ptr<Engine> split = start(whole_bytes_ - expert_bytes_ / 2);
    const auto change = [](Engine& engine, const char* scheme) {
        const Status status = engine.call("", [&](Session& session) -> Status {
            KvSettings settings = default_kv_settings(*parse_kv_scheme(scheme));
            Job job;
            const KvChange changed = session.change_kv(settings, job);
            return changed.outcome == KvChangeOutcome::changed ? Status() : Status(*changed.error);
        });
        EXPECT_TRUE(status) << status.error().message;
    };
    for (Engine* engine : {split.get(), whole_.get()}) change(*engine, "f16");
    EXPECT_EQ(reply(*split, 2500), reply(*whole_, 2500));
    const int before = split->device_expert_layers();
    for (Engine* engine : {split.get(), whole_.get()}) change(*engine, "f32");
    EXPECT_LT(split->device_expert_layers(), before);
    expect_every_byte_on_a_line(*split);
    EXPECT_EQ(reply(*split, 2550), reply(*whole_, 2550));
}

// A reply that outgrows its pages while it is written.
TEST_F(SplitEngine, ExpertsGiveWayInTheMiddleOfAReply) {
    const std::unique_ptr<Engine> split = start(whole_bytes_ - expert_bytes_ / 4);
    const int before = split->device_expert_layers();
    int layers = before;
    std::string conversation = "a";
    for (const int64_t prompt = KvCache::cells_per_step - 15; layers > before - 2; conversation += 'a') {
        GenerateRequest request;
        request.conversation = conversation;
        request.prompt = std::vector<int32_t>(static_cast<size_t>(prompt), 'x');
        request.max_tokens = 30;
        request.sampler.temperature = 0;
        const auto generation = split->generate(request);
        ASSERT_TRUE(generation->report()) << generation->report().error().message;
        EXPECT_EQ((*generation->report()).ids, reply(*whole_, prompt)) << layers;
        layers = split->device_expert_layers();
        ASSERT_LT(conversation.size(), 200u);
    }
}

// As folders of safetensors may have it: the first expert of a layer takes half of what the others take.
TEST_F(SplitEngine, ExpertsOfALayerMayTakeDifferentRoom) {
    const auto mixed = std::make_shared<Model>(*model_);
    for (LayerWeights& layer : mixed->weights.layers) {
        FfnMatrices& first = layer.ffn.experts[0];
        for (Matrix* w : {&first.gate, &first.up, &first.down}) {
            const auto halves = std::make_shared<std::vector<uint16_t>>();
            const auto* const values = reinterpret_cast<const float*>(w->data);
            for (int64_t i = 0; i < w->rows * w->cols; ++i)
                halves->push_back(static_cast<uint16_t>(std::bit_cast<uint32_t>(values[i]) >> 16));
            w->type = WeightType::bf16;
            w->data = reinterpret_cast<const std::byte*>(halves->data());
            mixed->owners.push_back(halves);
        }
    }
    model_ = mixed;
    whole_ = start(0);
    for (const int64_t divisor : {2, 4}) {
        const std::unique_ptr<Engine> split = start(whole_bytes_ - expert_bytes_ / divisor);
        EXPECT_GT(split->memory().host_expert_bytes, 0) << divisor;
        for (const int64_t prompt : {5, 300}) EXPECT_EQ(reply(*split, prompt), reply(*whole_, prompt)) << divisor;
        expect_every_byte_on_a_line(*split);
    }
}

}  // namespace
}  // namespace octavo
