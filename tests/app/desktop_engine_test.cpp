// The real engine behind the desktop's port, with the bundled model: commands are posted, events come.
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "app/desktop/real_engine.h"

namespace octavo {
namespace {

// Waits for the engine as the window does, but with an end.
class DesktopEngine : public testing::Test {
  protected:
    template <class Event>
    Event wait_for() {
        for (;;) {
            for (size_t i = 0; i < events_.size(); ++i) {
                if (!std::holds_alternative<Event>(events_[i])) continue;
                Event event = std::get<Event>(events_[i]);
                events_.erase(events_.begin(), events_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
                return event;
            }
            {
                std::unique_lock lock(mutex_);
                if (!changed_.wait_for(lock, std::chrono::seconds(60), [&] { return awake_; })) break;
                awake_ = false;
            }
            for (EngineEvent& event : engine_->take_events()) events_.push_back(std::move(event));
        }
        ADD_FAILURE() << "the engine does not answer";
        throw std::runtime_error("no event");
    }

    ModelLoaded load() {
        engine_->load_model({});
        return wait_for<ModelLoaded>();
    }

    static ReplyRequest question(const std::string& text, const CacheWish& cache) {
        ReplyRequest request;
        request.conversation = "c1";
        request.prompt.messages = {{Role::user, text}};
        request.sampler.temperature = 0;
        request.cache = cache;
        return request;
    }

    static CacheWish usual(const ModelLoaded& loaded) { return {loaded.info.kv, 8192}; }

    void wake() {
        const std::lock_guard lock(mutex_);
        awake_ = true;
        changed_.notify_all();
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    bool awake_ = false;
    std::vector<EngineEvent> events_;
    std::unique_ptr<EnginePort> engine_ = make_real_engine([this] { wake(); });
};

TEST_F(DesktopEngine, AnswersAndMeasuresItsMemory) {
    const ModelLoaded loaded = load();
    engine_->reply(
        question("The access code of the mill is AMBER-4417. What is the access code of the mill?", usual(loaded)));
    const CacheMeasured measured = wait_for<CacheMeasured>();
    EXPECT_EQ(measured.state.cache, usual(loaded));
    const ReplyEnded ended = wait_for<ReplyEnded>();
    ASSERT_TRUE(ended.report) << ended.report.error().message;
    EXPECT_NE(ended.report->text.find("AMBER-4417"), std::string::npos) << ended.report->text;
    EXPECT_EQ(measured.state.tokens, ended.report->prompt_tokens + static_cast<int64_t>(ended.report->ids.size()));
}

TEST_F(DesktopEngine, StreamsWhatItReports) {
    const ModelLoaded loaded = load();
    engine_->reply(question("The magic number for Orla is 4823901. What is the magic number for Orla?", usual(loaded)));
    const ReplyStreamed first = wait_for<ReplyStreamed>();
    std::string text = first.delta.text;
    bool finished = first.delta.finished;
    while (!finished) {
        const ReplyStreamed more = wait_for<ReplyStreamed>();
        text += more.delta.text;
        finished = more.delta.finished;
    }
    EXPECT_EQ(text, wait_for<ReplyEnded>().report->text);
}

TEST_F(DesktopEngine, ChangesTheCacheOfAConversationThatGoesOn) {
    const ModelLoaded loaded = load();
    engine_->reply(question("The access code of the mill is AMBER-4417.", usual(loaded)));
    (void)wait_for<ReplyEnded>();
    const CacheWish wish{default_kv_settings(*parse_kv_scheme("q8_0")), 4096};
    engine_->change_cache("c1", wish);
    EXPECT_EQ(wait_for<CacheMeasured>().state.cache, wish);
    const CacheChanged changed = wait_for<CacheChanged>();
    EXPECT_EQ(changed.change.outcome, KvChangeOutcome::changed);
    EXPECT_GT(changed.tokens, 0);

    engine_->rebuild("c1");
    const RebuildEnded rebuilt = wait_for<RebuildEnded>();
    ASSERT_TRUE(rebuilt.report);
    EXPECT_EQ(rebuilt.report->prefilled_tokens, changed.tokens);
}

TEST_F(DesktopEngine, KeepsTheCacheWhereAChangeIsRefused) {
    const ModelLoaded loaded = load();
    engine_->reply(question("The access code of the mill is AMBER-4417.", usual(loaded)));
    (void)wait_for<ReplyEnded>();
    engine_->change_cache("c1", {loaded.info.kv, 4});  // shorter than the conversation
    EXPECT_EQ(wait_for<CacheMeasured>().state.cache, usual(loaded));
    const CacheChanged changed = wait_for<CacheChanged>();
    EXPECT_EQ(changed.change.outcome, KvChangeOutcome::kept_old);
    ASSERT_TRUE(changed.change.error);
    EXPECT_NE(changed.change.error->message.find("too short"), std::string::npos);
}

TEST_F(DesktopEngine, StopsWhileThePromptIsRead) {
    const ModelLoaded loaded = load();
    std::string text;
    for (int i = 0; i < 2000; ++i) text += "The tired clerk counted the boats. ";
    engine_->reply(question(text, {loaded.info.kv, 65536}));
    while (wait_for<ReplyProgressed>().progress.phase != GenerationPhase::prefill) {
    }
    engine_->stop();
    const ReplyEnded ended = wait_for<ReplyEnded>();
    ASSERT_TRUE(ended.report);
    EXPECT_EQ(ended.report->stop, StopReason::cancelled);
    EXPECT_TRUE(ended.report->text.empty());
}

TEST_F(DesktopEngine, CountsTokensWhileItReads) {
    const ModelLoaded loaded = load();
    std::string text;
    for (int i = 0; i < 2000; ++i) text += "The tired clerk counted the boats. ";
    engine_->reply(question(text, {loaded.info.kv, 65536}));
    engine_->count_tokens(7, "The access code of the mill");
    const TextCounted counted = wait_for<TextCounted>();
    EXPECT_EQ(counted.ticket, 7u);
    EXPECT_GT(*counted.tokens, 3);
    engine_->stop();
    EXPECT_EQ(wait_for<ReplyEnded>().report->stop, StopReason::cancelled);
}

TEST_F(DesktopEngine, KeepsTheFormerModelWhenAnotherCannotBeOpened) {
    const ModelLoaded loaded = load();
    engine_->load_model({.path = testing::TempDir() + "/no_such_model.gguf"});
    const ModelFailed failed = wait_for<ModelFailed>();
    EXPECT_TRUE(failed.former_kept);
    EXPECT_NE(failed.error.message.find("no_such_model.gguf"), std::string::npos) << failed.error.message;
    engine_->reply(question("hello", usual(loaded)));
    EXPECT_TRUE(wait_for<ReplyEnded>().report);
}

TEST_F(DesktopEngine, SaysThatNoModelIsLoaded) {
    engine_->reply(question("hello", {}));
    const ReplyEnded ended = wait_for<ReplyEnded>();
    ASSERT_FALSE(ended.report);
    EXPECT_EQ(ended.report.error().kind, ErrorKind::usage);
}

TEST_F(DesktopEngine, CanBeClosedWhileItWorks) {
    const ModelLoaded loaded = load();
    engine_->reply(question(std::string(100000, 'a'), {loaded.info.kv, 262144}));
    while (wait_for<ReplyProgressed>().progress.phase != GenerationPhase::prefill) {
    }
    engine_.reset();
}

}  // namespace
}  // namespace octavo
