#include "runtime/session.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "runtime/prompt.h"
#include "tests/support/random_model.h"

namespace octavo {
namespace {

using test::ByteTokenizer;

constexpr KvScheme f32{KvFormat::f32, KvFormat::f32};

std::vector<int32_t> random_ids(size_t count, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::uniform_int_distribution<int32_t> byte(32, 126);
    std::vector<int32_t> ids(count);
    for (int32_t& id : ids) id = byte(random);
    return ids;
}

std::vector<int32_t> operator+(std::vector<int32_t> a, const std::vector<int32_t>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

// One model, back end and forward pass, and sessions on them.
class SessionTest : public testing::Test {
  protected:
    static constexpr int max_tokens = 128;

    void SetUp() override {
        model_ = test::random_model();
        backend_ = make_cpu_backend(1, detect_cpu_isa());
        Result<Forward> forward = Forward::create(model_->config, model_->weights, *backend_, max_tokens);
        ASSERT_TRUE(forward) << forward.error().message;
        forward_.emplace(std::move(*forward));
    }

    static SessionOptions options() {
        SessionOptions options;
        options.kv.scheme = f32;
        options.prefill_chunk = 64;
        return options;
    }
    std::unique_ptr<Session> make(const SessionOptions& options) {
        Result<std::unique_ptr<Session>> session = Session::create(model_->config, *forward_, options);
        EXPECT_TRUE(session) << session.error().message;
        return std::move(*session);
    }
    std::unique_ptr<Session> make() { return make(options()); }

    PrefillReport prefill(Session& session, const std::vector<int32_t>& ids) {
        return prefill(session, ids, prompt_anchors(ids, ByteTokenizer::turn_start, false));
    }
    PrefillReport prefill(Session& session, const std::vector<int32_t>& ids, const std::vector<Anchor>& anchors) {
        Job job;
        const Result<PrefillReport> report = session.prefill(ids, anchors, job);
        EXPECT_TRUE(report) << report.error().message;
        if (!report) return {};
        EXPECT_EQ(report->prompt_tokens, std::ssize(ids));
        EXPECT_EQ(report->reused_tokens + report->prefilled_tokens, std::ssize(ids));
        EXPECT_TRUE(std::ranges::equal(session.tokens(), ids));
        EXPECT_EQ(job.progress().done, std::ssize(ids));
        return *report;
    }
    static int32_t best(const Session& session) {
        const std::span<const float> logits = session.logits();
        return static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
    }
    static std::vector<int32_t> greedy(Session& session, int count) {
        std::vector<int32_t> ids;
        for (int i = 0; i < count; ++i) {
            ids.push_back(best(session));
            EXPECT_TRUE(session.decode(ids.back()));
        }
        return ids;
    }
    // Within the design's 1e-3 of a session that read the same tokens at once.
    void expect_like_fresh(const Session& session, const char* what) {
        const std::vector<int32_t> ids(session.tokens().begin(), session.tokens().end());
        const auto fresh = make();
        prefill(*fresh, ids, {});
        ASSERT_EQ(session.logits().size(), fresh->logits().size()) << what;
        float difference = 0;
        for (size_t i = 0; i < session.logits().size(); ++i) {
            difference = std::max(difference, std::abs(session.logits()[i] - fresh->logits()[i]));
        }
        EXPECT_LE(difference, 1e-3f) << what << ", " << ids.size() << " tokens";
        EXPECT_EQ(best(session), best(*fresh)) << what;
    }

    std::shared_ptr<const Model> model_;
    std::unique_ptr<Backend> backend_;
    std::optional<Forward> forward_;
};

std::vector<int32_t> turn(size_t length, uint64_t seed) {
    return std::vector<int32_t>{ByteTokenizer::turn_start} + random_ids(length, seed) +
           std::vector<int32_t>{ByteTokenizer::turn_end, '\n'};
}
const std::vector<int32_t> opening = {ByteTokenizer::turn_start, 'a', '\n'};

TEST_F(SessionTest, SplitsAtRandomPointsAgree) {
    const std::vector<int32_t> ids = random_ids(300, 1);
    std::mt19937 random(5);
    for (int round = 0; round < 6; ++round) {
        const auto session = make();
        Job job;
        std::string split;
        for (size_t start = 0; start < ids.size();) {
            const size_t count = std::min<size_t>(ids.size() - start, 1 + random() % (round < 3 ? 20 : 150));
            ASSERT_TRUE(session->append(
                std::span(ids).subspan(start, count), 1, [](auto...) {}, job));
            start += count;
            split += fmt::format("{} ", count);
        }
        expect_like_fresh(*session, split.c_str());
    }
}

TEST_F(SessionTest, OneTokenAtATimeAgrees) {
    const std::vector<int32_t> ids = random_ids(150, 2);
    const auto session = make();
    for (const int32_t id : ids) ASSERT_TRUE(session->decode(id));
    expect_like_fresh(*session, "decode only");
}

TEST_F(SessionTest, AppendHandsOutTheLastRowsInOrder) {
    const std::vector<int32_t> ids = random_ids(200, 3);
    const auto session = make();
    Job job;
    int64_t next = 200 - 150;
    std::vector<float> last;
    ASSERT_TRUE(session->append(
        ids, 150,
        [&](int64_t first, int rows, const float* logits) {
            EXPECT_EQ(first, next);
            next += rows;
            last.assign(logits + (rows - 1) * 261, logits + rows * 261);
        },
        job));
    EXPECT_EQ(next, 200);
    EXPECT_TRUE(std::ranges::equal(session->logits(), last));
    expect_like_fresh(*session, "append");
}

TEST_F(SessionTest, SamePromptAgainReadsNothing) {
    const auto session = make();
    const std::vector<int32_t> ids = random_ids(200, 4);
    EXPECT_EQ(prefill(*session, ids).reused_tokens, 0);
    const std::vector<float> logits(session->logits().begin(), session->logits().end());
    EXPECT_EQ(prefill(*session, ids).prefilled_tokens, 0);
    EXPECT_TRUE(std::ranges::equal(session->logits(), logits));
}

TEST_F(SessionTest, SecondTurnReadsOnlyWhatIsNew) {
    const auto session = make();
    const std::vector<int32_t> first = turn(180, 5) + opening;
    prefill(*session, first);
    const std::vector<int32_t> reply = greedy(*session, 25);
    const std::vector<int32_t> second =
        first + reply + std::vector<int32_t>{ByteTokenizer::turn_end, '\n'} + turn(40, 6) + opening;
    const PrefillReport report = prefill(*session, second);
    EXPECT_EQ(report.reused_tokens, std::ssize(first) + 25);
    EXPECT_EQ(report.prefilled_tokens, 2 + 43 + 3);
    expect_like_fresh(*session, "second turn");
}

TEST_F(SessionTest, RegenerateReadsNothingAndRepeatsTheReplyBitForBit) {
    const auto session = make();
    const std::vector<int32_t> prompt = turn(180, 7) + opening;
    prefill(*session, prompt);
    const std::vector<float> logits(session->logits().begin(), session->logits().end());
    const std::vector<int32_t> reply = greedy(*session, 30);
    const std::vector<float> end(session->logits().begin(), session->logits().end());
    const PrefillReport report = prefill(*session, prompt);
    EXPECT_EQ(report.prefilled_tokens, 0);
    EXPECT_TRUE(std::ranges::equal(session->logits(), logits));
    EXPECT_EQ(greedy(*session, 30), reply);
    EXPECT_TRUE(std::ranges::equal(session->logits(), end));
}

TEST_F(SessionTest, EditingAMessageReusesEverythingBeforeIt) {
    const auto session = make();
    const std::vector<std::vector<int32_t>> turns = {turn(70, 10), turn(90, 11), turn(30, 12), turn(120, 13),
                                                     turn(50, 14)};
    std::vector<int32_t> all;
    for (const auto& turn : turns) all = all + turn;
    prefill(*session, all + opening);
    for (int edited = 4; edited >= 1; --edited) {
        std::vector<int32_t> prompt;
        for (int i = 0; i < edited; ++i) prompt = prompt + turns[i];
        const int64_t before = std::ssize(prompt);
        prompt = prompt + turn(60, 100 + edited) + opening;
        const PrefillReport report = prefill(*session, prompt);
        EXPECT_EQ(report.reused_tokens, before) << "edit of message " << edited;
        expect_like_fresh(*session, "edit");
    }
}

TEST_F(SessionTest, ABranchGoesBackToItsFork) {
    const auto session = make();
    const std::vector<int32_t> trunk = turn(150, 20);
    prefill(*session, trunk + turn(40, 21) + opening);
    greedy(*session, 10);
    const std::vector<int32_t> branch = trunk + turn(70, 22) + opening;
    EXPECT_EQ(prefill(*session, branch).reused_tokens, std::ssize(trunk));
    expect_like_fresh(*session, "branch");
}

// A template that drops old thinking: the next prompt leaves out part of what was generated.
TEST_F(SessionTest, DroppedThinkingReadsFromTheReplyOn) {
    const auto session = make();
    const std::vector<int32_t> question = turn(160, 30);
    prefill(*session, question + opening + std::vector<int32_t>{259, '\n'});
    greedy(*session, 40);
    const std::vector<int32_t> second = question + opening + random_ids(12, 31) +
                                        std::vector<int32_t>{ByteTokenizer::turn_end, '\n'} + turn(20, 32) + opening;
    const PrefillReport report = prefill(*session, second);
    EXPECT_EQ(report.reused_tokens, std::ssize(question));
    expect_like_fresh(*session, "dropped thinking");
}

TEST_F(SessionTest, APrefixOfWhatIsThereReadsAtLeastItsLastToken) {
    const auto session = make();
    const std::vector<int32_t> ids = random_ids(200, 40);
    prefill(*session, ids);
    const std::vector<int32_t> prefix(ids.begin(), ids.begin() + 120);
    EXPECT_EQ(prefill(*session, prefix).reused_tokens, 0) << "no checkpoint before 120";
    expect_like_fresh(*session, "prefix");
}

TEST_F(SessionTest, CheckpointsWithoutLogitsDoNotEndAPrompt) {
    const auto session = make();
    const std::vector<int32_t> ids = random_ids(200, 41);
    prefill(*session, ids, {{.position = 60}, {.position = 120}});
    ASSERT_NE(session->checkpoints().at(120), nullptr);
    const std::vector<int32_t> prefix(ids.begin(), ids.begin() + 120);
    EXPECT_EQ(prefill(*session, prefix).reused_tokens, 60);
    expect_like_fresh(*session, "prefix");
}

TEST_F(SessionTest, LongPromptsGetCheckpointsAtIntervals) {
    SessionOptions options = this->options();
    options.checkpoint_interval = 100;
    const auto session = make(options);
    const std::vector<int32_t> ids = random_ids(450, 42);
    prefill(*session, ids, {});
    for (const int64_t position : {100, 200, 300, 400}) {
        ASSERT_NE(session->checkpoints().at(position), nullptr) << position;
        EXPECT_EQ(session->checkpoints().at(position)->kind, CheckpointKind::interval);
    }
    std::vector<int32_t> edited = ids;
    edited[333] ^= 1;
    EXPECT_EQ(prefill(*session, edited, {}).reused_tokens, 300);
    expect_like_fresh(*session, "interval");
    EXPECT_EQ(session->checkpoints().at(400)->position, 400) << "made again for the new text";
}

TEST_F(SessionTest, ACancelledPrefillLeavesAShorterStateThatGoesOn) {
    const auto session = make();
    const std::vector<int32_t> ids = random_ids(300, 50);
    Job cancelled;
    cancelled.cancel();
    const Result<PrefillReport> nothing = session->prefill(ids, {}, cancelled);
    ASSERT_TRUE(nothing);
    EXPECT_TRUE(nothing->cancelled);
    EXPECT_EQ(session->position(), 0);

    // Cancels itself in the third pass, as a person would.
    struct Probe {
        Job job;
        int passes = 0;
    } probe;
    forward_->set_probe(
        [](void* context, int layer, const float*, int) {
            auto* probe = static_cast<Probe*>(context);
            if (layer == 0 && ++probe->passes == 3) probe->job.cancel();
        },
        &probe);
    const Result<PrefillReport> part = session->prefill(ids, {}, probe.job);
    forward_->set_probe(nullptr, nullptr);
    ASSERT_TRUE(part);
    EXPECT_TRUE(part->cancelled);
    EXPECT_EQ(part->prefilled_tokens, 3 * 64);
    EXPECT_EQ(session->position(), 3 * 64);
    EXPECT_TRUE(session->logits().empty());
    EXPECT_EQ(probe.job.progress().done, 3 * 64);

    EXPECT_EQ(prefill(*session, ids).reused_tokens, 3 * 64);
    expect_like_fresh(*session, "after cancel");
}

TEST_F(SessionTest, CancelAfterGoingBackLeavesTheCommonPart) {
    const auto session = make();
    const std::vector<int32_t> trunk = turn(100, 51);
    prefill(*session, trunk + turn(100, 52) + opening);
    Job cancelled;
    cancelled.cancel();
    const Result<PrefillReport> report = session->prefill(trunk + turn(90, 53), {}, cancelled);
    ASSERT_TRUE(report);
    EXPECT_EQ(report->reused_tokens, std::ssize(trunk));
    EXPECT_TRUE(std::ranges::equal(session->tokens(), trunk));
    ASSERT_TRUE(session->decode('x'));
    expect_like_fresh(*session, "after cancel");
}

TEST_F(SessionTest, TheCheckpointBudgetHolds) {
    const int64_t state_bytes = make()->recurrent_bytes();
    SessionOptions options = this->options();
    options.checkpoint_budget_bytes = 6 * state_bytes;
    options.checkpoint_interval = 32;
    const auto session = make(options);
    const std::vector<int32_t> ids = random_ids(1000, 60);
    prefill(*session, ids);
    EXPECT_LE(session->checkpoints().bytes(), options.checkpoint_budget_bytes);
    EXPECT_EQ(session->checkpoints().checkpoints().size(), 5u) << "five states and the logits of one";

    options.checkpoint_budget_bytes = 0;
    const auto none = make(options);
    Job job;
    const Result<PrefillReport> report = none->prefill(ids, {}, job);
    ASSERT_TRUE(report);
    EXPECT_EQ(report->checkpoints_refused, 31);
    EXPECT_EQ(none->checkpoints().bytes(), 0);
    EXPECT_EQ(prefill(*none, random_ids(50, 61)).reused_tokens, 0);
    expect_like_fresh(*none, "without checkpoints");
}

TEST_F(SessionTest, AFullContextSaysSoWithNumbers) {
    SessionOptions options = this->options();
    options.context_length = 100;
    const auto session = make(options);
    const std::vector<int32_t> short_prompt = random_ids(99, 70);
    prefill(*session, short_prompt);
    Job job;
    const Result<PrefillReport> report = session->prefill(random_ids(101, 71), {}, job);
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().kind, ErrorKind::context_full);
    EXPECT_NE(report.error().message.find("101"), std::string::npos) << report.error().message;
    EXPECT_NE(report.error().message.find("100"), std::string::npos) << report.error().message;
    EXPECT_TRUE(std::ranges::equal(session->tokens(), short_prompt)) << "a refused prompt changes nothing";
    ASSERT_TRUE(session->decode('x'));
    const Status status = session->decode('y');
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().kind, ErrorKind::context_full);
    EXPECT_EQ(session->position(), 100);

    ASSERT_TRUE(session->set_context_length(101));
    EXPECT_TRUE(session->decode('y'));
    EXPECT_FALSE(session->set_context_length(100)) << "shorter than the conversation";
    EXPECT_FALSE(session->set_context_length(1 << 20)) << "longer than the model allows";
    expect_like_fresh(*session, "full");
}

TEST_F(SessionTest, BadRequestsAreRefusedAndChangeNothing) {
    const auto session = make();
    const std::vector<int32_t> ids = random_ids(20, 80);
    prefill(*session, ids);
    Job job;
    EXPECT_FALSE(session->prefill({}, {}, job));
    for (const int32_t bad : {-1, 261, INT32_MAX, INT32_MIN}) {
        const std::vector<int32_t> broken = {1, 2, bad};
        const Result<PrefillReport> report = session->prefill(broken, {}, job);
        ASSERT_FALSE(report);
        EXPECT_EQ(report.error().kind, ErrorKind::usage);
        EXPECT_NE(report.error().message.find(std::to_string(bad)), std::string::npos);
        EXPECT_FALSE(session->decode(bad));
    }
    EXPECT_TRUE(std::ranges::equal(session->tokens(), ids));
    const std::vector<Anchor> strange = {{.position = -5}, {.position = 0}, {.position = 7000}, {.position = 25}};
    EXPECT_EQ(prefill(*session, ids + random_ids(20, 81), strange).reused_tokens, 20);

    SessionOptions options = this->options();
    options.context_length = 5000;
    EXPECT_FALSE(Session::create(model_->config, *forward_, options));
    options.context_length = -1;
    EXPECT_FALSE(Session::create(model_->config, *forward_, options));
    options = this->options();
    options.prefill_chunk = max_tokens + 1;
    EXPECT_FALSE(Session::create(model_->config, *forward_, options));
}

TEST_F(SessionTest, RestoreGoesBackExactly) {
    const auto session = make();
    const std::vector<int32_t> ids = random_ids(100, 90);
    prefill(*session, ids, {});
    ASSERT_TRUE(session->checkpoint_here());
    const std::vector<int32_t> a = greedy(*session, 20);
    ASSERT_TRUE(session->restore(100));
    EXPECT_TRUE(std::ranges::equal(session->tokens(), ids));
    for (const int32_t id : random_ids(7, 91)) ASSERT_TRUE(session->decode(id));
    ASSERT_TRUE(session->restore(100));
    EXPECT_EQ(greedy(*session, 20), a);
    const Status status = session->restore(77);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().kind, ErrorKind::usage);
    session->clear();
    EXPECT_EQ(session->position(), 0);
    EXPECT_TRUE(session->logits().empty());
    EXPECT_EQ(session->cache().committed_bytes(), 0);
    prefill(*session, ids, {});
    EXPECT_EQ(greedy(*session, 20), a);
}

TEST_F(SessionTest, GreedyIsBitIdenticalWithOneAndTwoThreads) {
    const std::vector<int32_t> prompt = random_ids(333, 95);
    std::vector<std::vector<float>> ends;
    std::vector<std::vector<int32_t>> replies;
    for (const int threads : {1, 2, 1}) {
        const auto backend = make_cpu_backend(threads, detect_cpu_isa());
        Result<Forward> forward = Forward::create(model_->config, model_->weights, *backend, max_tokens);
        ASSERT_TRUE(forward);
        Result<std::unique_ptr<Session>> session = Session::create(model_->config, *forward, options());
        ASSERT_TRUE(session);
        prefill(**session, prompt);
        replies.push_back(greedy(**session, 40));
        ends.emplace_back((*session)->logits().begin(), (*session)->logits().end());
    }
    for (const size_t other : {1u, 2u}) {
        EXPECT_EQ(replies[0], replies[other]);
        EXPECT_EQ(std::memcmp(ends[0].data(), ends[other].data(), ends[0].size() * sizeof(float)), 0);
    }
}

TEST_F(SessionTest, SchemesOfSixteenBitsReuseToo) {
    for (const char* name : {"f16", "bf16", "k=f32,v=f16"}) {
        SessionOptions options = this->options();
        options.kv.scheme = *parse_kv_scheme(name);
        const auto session = make(options);
        const std::vector<int32_t> prompt = turn(150, 96) + opening;
        prefill(*session, prompt);
        const std::vector<int32_t> reply = greedy(*session, 10);
        EXPECT_EQ(prefill(*session, prompt).prefilled_tokens, 0) << name;
        EXPECT_EQ(greedy(*session, 10), reply) << name;
    }
}

}  // namespace
}  // namespace octavo
