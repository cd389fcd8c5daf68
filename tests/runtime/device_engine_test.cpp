// Engines on a device with memory of its own, without a GPU: budgets, plans, and tokens that the device picks.
#include <gtest/gtest.h>

#include "runtime/engine.h"
#include "tests/support/fake_device.h"
#include "tests/support/random_model.h"

namespace octavo {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

EngineOptions budget_options(int64_t budget_bytes) {
    EngineOptions options;
    options.gpu_budget_bytes = budget_bytes;
    options.session.kv = default_kv_settings(*parse_kv_scheme("q8_0"));
    options.session.kv.window = 0;
    options.session.kv.sinks = 0;
    options.session.kv.scheme = {KvFormat::f32, KvFormat::f16};
    options.session.prefill_chunk = options.device_prefill_chunk = 256;
    return options;
}

Result<std::unique_ptr<Engine>> start(int64_t budget_bytes, int64_t device_bytes = int64_t{1} << 40) {
    const auto open = [device_bytes](int64_t budget) -> Result<std::unique_ptr<Backend>> {
        return test::fake_device({budget, device_bytes});
    };
    return Engine::create_within_budget(test::random_model(1, 65536), budget_options(budget_bytes), open);
}

Status read(Engine& engine, int64_t tokens) {
    return engine.call("a", [&](Session& session) -> Status {
        Job job;
        const std::vector<int32_t> ids(static_cast<size_t>(tokens), 'x');
        const Result<PrefillReport> report = session.prefill(ids, {}, job);
        return report ? Status() : Status(report.error());
    });
}

TEST(DeviceEngine, ABudgetThatIsTooSmallIsRefusedWithTheSmallestThatWorks) {
    const Result<std::unique_ptr<Engine>> refused = start(kMiB / 2);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::memory);
    const std::string& message = refused.error().message;
    const size_t at = message.find(" MiB is the smallest");
    ASSERT_NE(at, std::string::npos) << message;
    const int64_t least = std::stoll(message.substr(message.rfind(' ', at - 1) + 1)) * kMiB;

    const Result<std::unique_ptr<Engine>> smallest = start(least);
    ASSERT_TRUE(smallest) << smallest.error().message;
    const Status status = read(**smallest, 500);
    EXPECT_TRUE(status) << status.error().message;
    EXPECT_FALSE(start(least - kMiB)) << "a smaller one works too";
}

TEST(DeviceEngine, WhereTheDeviceItselfIsTooSmallThatIsWhatItSays) {
    const Result<std::unique_ptr<Engine>> refused = start(kMiB, kMiB / 2);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::memory);
    EXPECT_EQ(refused.error().message.find("smallest"), std::string::npos) << refused.error().message;
}

// A device that does not hold the model: --device auto takes the CPU and says why, --device cuda is refused.
TEST(DeviceEngine, AModelThatDoesNotFitRunsOnTheCpuAndSaysWhy) {
    EngineOptions options = budget_options(0);
    options.threads = 1;
    const auto open = [](int64_t budget) -> Result<std::unique_ptr<Backend>> {
        return test::fake_device({budget, kMiB / 2});
    };
    options.device = DeviceChoice::automatic;
    const Result<std::unique_ptr<Engine>> engine = Engine::create(test::random_model(1, 65536), options, open);
    ASSERT_TRUE(engine) << engine.error().message;
    const EngineInfo& info = (*engine)->info();
    EXPECT_EQ(info.device, "cpu");
    EXPECT_NE(info.gpu_refusal.find(" wanted, "), std::string::npos) << info.gpu_refusal;
    EXPECT_NE(info.backend.find(", not the GPU: " + info.gpu_refusal), std::string::npos) << info.backend;
    EXPECT_TRUE(read(**engine, 20));

    options.device = DeviceChoice::cuda;
    const Result<std::unique_ptr<Engine>> refused = Engine::create(test::random_model(1, 65536), options, open);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, info.gpu_refusal);
}

TEST(DeviceEngine, AModelThatFitsRunsOnTheDevice) {
    EngineOptions options = budget_options(0);
    options.device = DeviceChoice::automatic;
    const auto open = [](int64_t budget) -> Result<std::unique_ptr<Backend>> { return test::fake_device({budget}); };
    const Result<std::unique_ptr<Engine>> engine = Engine::create(test::random_model(1, 65536), options, open);
    ASSERT_TRUE(engine) << engine.error().message;
    EXPECT_EQ((*engine)->info().device, "cuda");
    EXPECT_EQ((*engine)->info().gpu_refusal, "");
}

// A model that fits with short passes only is not shared with the CPU for the sake of long ones.
TEST(DeviceEngine, PassesAreShorterBeforeExpertsStayOnTheCpu) {
    const auto open = [](int64_t budget) -> Result<std::unique_ptr<Backend>> { return test::fake_device({budget}); };
    const int64_t least = (*start(0))->info().least_budget_bytes;  // with passes of 256
    EngineOptions options = budget_options(least);
    options.device_prefill_chunk = 2048;
    const auto model = test::random_model(1, 65536);
    const Result<std::unique_ptr<Engine>> tight = Engine::create_within_budget(model, options, open);
    ASSERT_TRUE(tight) << tight.error().message;
    EXPECT_EQ((*tight)->info().split_layers, 0);
    options.gpu_budget_bytes = 0;
    const Result<std::unique_ptr<Engine>> wide = Engine::create_within_budget(model, options, open);
    ASSERT_TRUE(wide) << wide.error().message;
    EXPECT_GT((*wide)->info().memory.workspace_bytes, (*tight)->info().memory.workspace_bytes);
}

// Every byte that the device has handed out is on a line, at five budgets and contexts.
TEST(DeviceEngine, ThePlanIsWhatTheDeviceHasGiven) {
    const int64_t least = (*start(0))->info().least_budget_bytes;
    for (const int64_t tokens : {1, 700, 1500, 3000, 6000}) {
        const int64_t budget = least + tokens * 2000;
        const Result<std::unique_ptr<Engine>> engine = start(budget);
        ASSERT_TRUE(engine) << engine.error().message;
        const EngineInfo& info = (*engine)->info();
        const Model& model = (*engine)->model();
        const SessionOptions options = budget_options(0).session;
        const std::vector<MemoryLine> planned = planned_memory(model, options, tokens, info.memory);
        const Status status = read(**engine, tokens);
        EXPECT_EQ(static_cast<bool>(status), committed_bytes_at("gpu", planned) <= budget) << tokens;
        if (!status) continue;
        (void)(*engine)->call("a", [&](Session& session) -> Status {
            const std::vector<MemoryLine> lines = memory_plan(model, session, info.memory);
            const auto taken = static_cast<double>(session.backend().memory().taken_bytes());
            EXPECT_NEAR(static_cast<double>(committed_bytes_at("gpu", lines)), taken, 0.02 * taken) << tokens;
            EXPECT_EQ(committed_bytes_at("gpu", lines), committed_bytes_at("gpu", planned)) << tokens;
            return {};
        });
    }
}

TEST(DeviceEngine, TheLongestContextThatThePlanAllowsFits) {
    const int64_t budget = (*start(0))->info().least_budget_bytes + 2 * kMiB;
    const Result<std::unique_ptr<Engine>> engine = start(budget);
    ASSERT_TRUE(engine) << engine.error().message;
    const SessionOptions options = budget_options(0).session;
    const int64_t fits = largest_context((*engine)->model(), options, options.kv, (*engine)->info().memory, budget);
    ASSERT_GT(fits, 1024);
    ASSERT_LT(fits, 65536);
    EXPECT_FALSE(read(**engine, fits + 1));
    const Status status = read(**engine, fits);
    EXPECT_TRUE(status) << status.error().message;
}

TEST(DeviceEngine, TokensThatTheDevicePicksAreThoseOfTheSampler) {
    const Result<std::unique_ptr<Engine>> device = start(0);
    ASSERT_TRUE(device);
    Result<std::unique_ptr<Engine>> host =
        Engine::create(test::random_model(1, 65536), budget_options(0), make_cpu_backend(1, detect_cpu_isa()));
    ASSERT_TRUE(host);
    for (const auto& [temperature, top_k, top_p, min_p, penalty] :
         std::vector<std::tuple<float, int, float, float, float>>{
             {0, 0, 1, 0, 1}, {1, 0, 1, 0, 1}, {0.8f, 40, 0.9f, 0, 1.2f}, {1.5f, 0, 0.5f, 0.02f, 1.1f}}) {
        GenerateRequest request;
        request.prompt = std::vector<int32_t>(20, 'x');
        request.max_tokens = 40;
        request.sampler.temperature = temperature;
        request.sampler.top_k = top_k;
        request.sampler.top_p = top_p;
        request.sampler.min_p = min_p;
        request.sampler.repeat_penalty = penalty;
        request.sampler.seed = 3;
        const auto on_device = (*device)->generate(request);
        const auto on_host = (*host)->generate(request);
        ASSERT_TRUE(on_device->report()) << on_device->report().error().message;
        EXPECT_EQ((*on_device->report()).ids, (*on_host->report()).ids) << temperature;
        EXPECT_GT((*on_host->report()).ids.size(), 1u);
    }
    // The logits after the reply are at hand, so that reading the same again costs nothing.
    EXPECT_TRUE((*device)->call("", [](Session& session) -> Status {
        EXPECT_EQ(session.reusable_prefix(session.tokens()), session.position());
        return {};
    }));
}

}  // namespace
}  // namespace octavo
