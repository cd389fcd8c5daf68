#include "runtime/engine.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "tests/support/random_model.h"

namespace octavo {
namespace {

using namespace std::chrono_literals;
using test::ByteTokenizer;

EngineOptions small_options() {
    EngineOptions options;
    options.device = DeviceChoice::cpu;
    options.threads = 1;
    options.session.kv.scheme = {KvFormat::f32, KvFormat::f32};
    options.session.prefill_chunk = 64;
    return options;
}

std::unique_ptr<Engine> make_engine(const EngineOptions& options = small_options(), int context_length = 4096) {
    Result<std::unique_ptr<Engine>> engine = Engine::create(test::random_model(1, context_length), options);
    EXPECT_TRUE(engine) << engine.error().message;
    return std::move(*engine);
}

std::string words(int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += "word" + std::to_string(i * 7919 % 1000) + " ";
    return text;
}

GenerateRequest chat(std::vector<Message> messages, int64_t max_tokens, const std::string& conversation = "a") {
    GenerateRequest request;
    request.conversation = conversation;
    request.prompt = ChatPrompt{std::move(messages)};
    request.sampler.temperature = 0;
    request.max_tokens = max_tokens;
    return request;
}

GenerationReport run(Engine& engine, GenerateRequest request) {
    const auto generation = engine.generate(std::move(request));
    const Result<GenerationReport>& report = generation->report();
    EXPECT_TRUE(report) << report.error().message;
    return report ? *report : GenerationReport{};
}

Message user(std::string text) { return {.role = Role::user, .content = std::move(text)}; }
Message assistant(const GenerationReport& report) {
    return {.role = Role::assistant, .content = report.text, .reasoning = report.reasoning, .ids = report.ids};
}

TEST(Device, IsDecidedInOnePlace) {
    EXPECT_EQ(*parse_device("auto"), DeviceChoice::automatic);
    EXPECT_EQ(*parse_device("cpu"), DeviceChoice::cpu);
    EXPECT_EQ(*parse_device("cuda"), DeviceChoice::cuda);
    ASSERT_FALSE(parse_device("gpu"));
    EXPECT_NE(parse_device("gpu").error().message.find("\"gpu\""), std::string::npos);

    EngineOptions options = small_options();
    options.device = DeviceChoice::cuda;
    const Result<std::unique_ptr<Engine>> engine = Engine::create(test::random_model(), options);
    if (engine) {
        EXPECT_EQ((*engine)->info().device, "cuda");
        EXPECT_EQ((*engine)->info().memory.place, "gpu");
    } else {
        EXPECT_EQ(engine.error().kind, ErrorKind::device);
    }
    EXPECT_EQ(make_engine()->info().device, "cpu");
}

TEST(Engine, SaysWhatItRunsOn) {
    const auto engine = make_engine();
    EXPECT_EQ(engine->info().scheme, "f32");
    EXPECT_EQ(engine->info().context_length, 4096);
    EXPECT_EQ(engine->info().bytes_per_token, 2 * 2 * 32 * 8);
    EXPECT_FALSE(engine->info().backend.empty());
    EXPECT_GT(engine->info().memory.workspace_bytes, 0);
}

TEST(Engine, ImpossibleOptionsAreRefused) {
    EngineOptions options = small_options();
    options.session.context_length = 5000;
    const Result<std::unique_ptr<Engine>> engine = Engine::create(test::random_model(), options);
    ASSERT_FALSE(engine);
    EXPECT_EQ(engine.error().kind, ErrorKind::usage);
    EXPECT_NE(engine.error().message.find("5000"), std::string::npos);
}

TEST(Engine, AReplyIsStreamedAndReported) {
    const auto engine = make_engine();
    const auto generation = engine->generate(chat({user(words(40))}, 20));
    GenerationDelta all;
    while (!all.finished) {
        const GenerationDelta delta = generation->wait(1s);
        all.text += delta.text;
        all.reasoning += delta.reasoning;
        all.ids.insert(all.ids.end(), delta.ids.begin(), delta.ids.end());
        all.finished = delta.finished;
    }
    ASSERT_TRUE(generation->report());
    const GenerationReport report = *generation->report();
    EXPECT_EQ(report.ids.size(), 20u);
    EXPECT_EQ(all.ids, report.ids);
    EXPECT_EQ(all.text, report.text);
    EXPECT_EQ(all.reasoning, report.reasoning);
    EXPECT_EQ(report.stop, StopReason::max_tokens);
    EXPECT_EQ(report.reused_tokens, 0);
    EXPECT_EQ(report.prefilled_tokens, report.prompt_tokens);
    EXPECT_GT(report.prefill_tokens_per_s, 0);
    EXPECT_GT(report.decode_tokens_per_s, 0);
    EXPECT_EQ(report.scheme, "f32");
    EXPECT_EQ(report.device, "cpu");
    const GenerationProgress progress = generation->progress();
    EXPECT_EQ(progress.phase, GenerationPhase::finished);
    EXPECT_EQ(progress.generated_tokens, 20);
    EXPECT_EQ(progress.processed_tokens, report.prompt_tokens);
    EXPECT_TRUE(generation->take().finished);
}

TEST(Engine, TheFirstTokenOfAReplyMayEndIt) {
    const auto engine = make_engine();
    GenerateRequest request;
    request.conversation = "a";
    request.sampler.temperature = 0;
    // Ids of the stop tokens come up sooner or later in a random model: look for a reply that ends by itself.
    bool ended = false;
    for (int32_t first = 0; first < 256 && !ended; ++first) {
        request.prompt = std::vector<int32_t>{first, 7, 9};
        request.max_tokens = 40;
        const GenerationReport report = run(*engine, request);
        if (report.stop != StopReason::end_of_turn) continue;
        ended = true;
        EXPECT_LT(report.ids.size(), 40u);
        for (const int32_t id : report.ids) {
            EXPECT_NE(id, ByteTokenizer::turn_end);
            EXPECT_NE(id, ByteTokenizer::text_end);
        }
    }
    EXPECT_TRUE(ended);
}

TEST(Engine, SecondTurnRegenerateAndEditReadOnlyWhatIsNew) {
    const auto engine = make_engine();
    const std::vector<Message> first = {{.role = Role::system, .content = words(10)}, user(words(60))};
    const GenerationReport one = run(*engine, chat(first, 30));
    EXPECT_EQ(one.reused_tokens, 0);

    std::vector<Message> second = first;
    second.push_back(assistant(one));
    second.push_back(user("And now?"));
    const GenerationReport two = run(*engine, chat(second, 30));
    // All but the last token of the reply were evaluated when the limit ended it.
    EXPECT_GE(two.reused_tokens, one.prompt_tokens + 29);
    EXPECT_LT(two.prefilled_tokens, 60);

    const GenerationReport again = run(*engine, chat(second, 30));
    EXPECT_EQ(again.prefilled_tokens, 0);
    EXPECT_EQ(again.ids, two.ids);

    std::vector<Message> edited = first;
    edited[1].content = "Something else.";
    const GenerationReport three = run(*engine, chat(edited, 10));
    EXPECT_GE(three.reused_tokens, std::ssize(words(10)));
    EXPECT_LT(three.prefilled_tokens, 50);

    const GenerationReport fresh = run(*engine, chat(edited, 10, "b"));
    EXPECT_EQ(fresh.reused_tokens, 0);
    EXPECT_EQ(fresh.ids, three.ids);
}

TEST(Engine, ConversationsDoNotTouchEachOther) {
    const auto engine = make_engine();
    const GenerationReport alone = run(*engine, chat({user(words(30))}, 20, "a"));
    run(*engine, chat({user(words(50))}, 20, "b"));
    const GenerationReport again = run(*engine, chat({user(words(30))}, 20, "a"));
    EXPECT_EQ(again.prefilled_tokens, 0);
    EXPECT_EQ(again.ids, alone.ids);
    engine->close_session("a");
    engine->close_session("never there");
    EXPECT_EQ(run(*engine, chat({user(words(30))}, 20, "a")).reused_tokens, 0);
}

TEST(Engine, SampledTextFollowsTheSeed) {
    const auto engine = make_engine();
    const auto sampled = [&](uint64_t seed) {
        GenerateRequest request = chat({user(words(20))}, 30);
        request.sampler.temperature = 1;
        request.sampler.seed = seed;
        return run(*engine, request).ids;
    };
    EXPECT_EQ(sampled(1), sampled(1));
    EXPECT_NE(sampled(1), sampled(2));
}

TEST(Engine, APromptLongerThanTheContextIsRefusedWithNumbers) {
    const auto engine = make_engine(small_options(), 200);
    const auto generation = engine->generate(chat({user(words(100))}, 10));
    ASSERT_FALSE(generation->report());
    EXPECT_EQ(generation->report().error().kind, ErrorKind::context_full);
    EXPECT_NE(generation->report().error().message.find("200"), std::string::npos);
    EXPECT_TRUE(generation->take().finished);
}

TEST(Engine, AContextThatFillsUpEndsTheReplyInWords) {
    const auto engine = make_engine(small_options(), 200);
    GenerateRequest request = chat({}, 0);
    request.prompt = std::vector<int32_t>(190, 'x');
    const GenerationReport report = run(*engine, request);
    if (report.stop == StopReason::end_of_turn) GTEST_SKIP() << "the random model ended the turn by itself";
    EXPECT_EQ(report.stop, StopReason::context_full);
    EXPECT_EQ(report.ids.size(), 11u) << "the last one was chosen but needs no room";
    EXPECT_NE(report.note.find("200"), std::string::npos) << report.note;
}

TEST(Engine, CheckpointsThatFindNoRoomAreTold) {
    EngineOptions options = small_options();
    EXPECT_EQ(run(*make_engine(options), chat({user(words(60))}, 4)).note, "");
    options.session.checkpoint_budget_bytes = 100;
    const std::string note = run(*make_engine(options), chat({user(words(60))}, 4)).note;
    EXPECT_NE(note.find("found no room (their budget is 100 bytes)"), std::string::npos) << note;
}

TEST(Engine, BadRequestsAreAnswered) {
    const auto engine = make_engine();
    GenerateRequest request = chat({user("hello")}, 5);
    request.sampler.top_p = 7;
    EXPECT_FALSE(engine->generate(request)->report());
    EXPECT_FALSE(engine->generate(chat({}, 5))->report()) << "no messages";
    request = chat({}, 5);
    request.prompt = std::vector<int32_t>{};
    EXPECT_FALSE(engine->generate(request)->report());
    request.prompt = std::vector<int32_t>{99999};
    EXPECT_FALSE(engine->generate(request)->report());
    EXPECT_EQ(run(*engine, chat({user("hello")}, 5)).ids.size(), 5u) << "and the engine goes on";
}

TEST(Engine, WithoutTokenizerOnlyIdsWork) {
    auto model = std::make_shared<Model>(*test::random_model());
    model->tokenizer = nullptr;
    Result<std::unique_ptr<Engine>> engine = Engine::create(model, small_options());
    ASSERT_TRUE(engine);
    EXPECT_FALSE((*engine)->generate(chat({user("hello")}, 5))->report());
    GenerateRequest request = chat({}, 5);
    request.prompt = std::vector<int32_t>{1, 2, 3};
    const GenerationReport report = run(**engine, request);
    EXPECT_EQ(report.ids.size(), 5u);
    EXPECT_EQ(report.text, "");
}

TEST(Engine, CancelInTheMiddleOfAPrefillThenGoOn) {
    const auto engine = make_engine();
    const std::vector<Message> messages = {user(words(450))};
    const auto generation = engine->generate(chat(messages, 10));
    while (generation->progress().processed_tokens < 64 && !generation->finished()) std::this_thread::yield();
    generation->cancel();
    ASSERT_TRUE(generation->report());
    const GenerationReport cancelled = *generation->report();
    EXPECT_EQ(cancelled.stop, StopReason::cancelled);
    EXPECT_LT(cancelled.prefilled_tokens, cancelled.prompt_tokens);
    EXPECT_TRUE(cancelled.ids.empty());
    EXPECT_EQ(generation->progress().processed_tokens, cancelled.prefilled_tokens);

    const GenerationReport resumed = run(*engine, chat(messages, 10));
    EXPECT_EQ(resumed.reused_tokens, cancelled.prefilled_tokens);
    EXPECT_EQ(resumed.ids, run(*engine, chat(messages, 10, "fresh")).ids);
}

TEST(Engine, CancelInTheMiddleOfAReplyKeepsWhatWasWritten) {
    const auto engine = make_engine();
    GenerateRequest request = chat({}, 0);
    request.prompt = std::vector<int32_t>{5, 6, 7};
    request.sampler.temperature = 3;  // wanders on
    const auto generation = engine->generate(request);
    while (generation->progress().generated_tokens < 5 && !generation->finished()) std::this_thread::yield();
    generation->cancel();
    ASSERT_TRUE(generation->report());
    if (generation->report()->stop == StopReason::end_of_turn) GTEST_SKIP() << "ended before it could be cancelled";
    EXPECT_EQ(generation->report()->stop, StopReason::cancelled);
    EXPECT_GE(generation->report()->ids.size(), 5u);
}

TEST(Engine, QueuedRequestsCanBeCancelledAndDestructionCancelsAll) {
    auto engine = make_engine();
    std::vector<std::shared_ptr<Generation>> generations;
    for (int i = 0; i < 6; ++i) generations.push_back(engine->generate(chat({user(words(450))}, 0)));
    generations[3]->cancel();
    engine.reset();
    for (const auto& generation : generations) {
        ASSERT_TRUE(generation->finished());
        ASSERT_TRUE(generation->report());
        EXPECT_EQ(generation->report()->stop, StopReason::cancelled);
    }
}

TEST(Engine, CallRunsOnTheEngineThreadAndHandsBackTheOutcome) {
    const auto engine = make_engine();
    const std::vector<int32_t> ids = {1, 2, 3, 4};
    const auto here = std::this_thread::get_id();
    const Result<int64_t> position = engine->call("a", [&](Session& session) -> Result<int64_t> {
        EXPECT_NE(std::this_thread::get_id(), here);
        Job job;
        if (Status status = session.append(
                ids, 1, [](auto...) {}, job);
            !status)
            return status.error();
        // Waiting for oneself would never end.
        EXPECT_FALSE(engine->call("a", [](Session&) -> Status { return {}; }));
        return session.position();
    });
    ASSERT_TRUE(position);
    EXPECT_EQ(*position, 4);
    const Status failed = engine->call("a", [](Session& session) { return session.decode(-1); });
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().kind, ErrorKind::usage);
    const Status thrown = engine->call("a", [](Session&) -> Status { throw std::bad_alloc(); });
    ASSERT_FALSE(thrown);
    EXPECT_EQ(thrown.error().kind, ErrorKind::memory);
}

// Many threads at one engine; worth most under ThreadSanitizer.
TEST(Engine, HandlesAreUsedFromManyThreads) {
    const auto engine = make_engine();
    std::vector<std::thread> threads;
    std::atomic<int> finished = 0;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&, i] {
            const auto generation = engine->generate(chat({user(words(20 + i))}, 25, std::to_string(i % 2)));
            std::thread watcher([&] {
                while (!generation->finished()) {
                    (void)generation->progress();
                    (void)generation->take();
                    std::this_thread::sleep_for(1ms);
                }
            });
            std::thread canceller([&] {
                std::this_thread::sleep_for(3ms);
                if (i == 3) generation->cancel();
            });
            while (!generation->wait(20ms).finished) {
            }
            if (generation->report()) ++finished;
            const Result<int64_t> position =
                engine->call("x", [](Session& session) -> Result<int64_t> { return session.position(); });
            EXPECT_TRUE(position);
            engine->close_session("x");
            watcher.join();
            canceller.join();
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(finished, 4);
}

}  // namespace
}  // namespace octavo
