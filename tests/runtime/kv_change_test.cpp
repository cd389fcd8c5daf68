// Quantised caches inside a session, and changes of their settings in the middle of a conversation.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "runtime/session.h"
#include "tests/support/random.h"
#include "tests/support/random_model.h"

namespace octavo {
namespace {

KvSettings settings_of(const char* scheme, int64_t window = 0, int64_t sinks = 0) {
    KvSettings settings;
    settings.scheme = *parse_kv_scheme(scheme);
    settings.window = window;
    settings.sinks = sinks;
    return settings;
}

std::vector<int32_t> some_ids(int count, uint64_t seed) {
    test::Random random(seed);
    std::vector<int32_t> ids;
    for (int i = 0; i < count; ++i) ids.push_back(32 + static_cast<int32_t>(random.below(95)));
    return ids;
}

class KvChangeTest : public testing::Test {
  protected:
    void SetUp() override {
        model_ = test::random_model();
        backend_ = make_cpu_backend(1, detect_cpu_isa());
        Result<Forward> forward = Forward::create(model_->config, model_->weights, *backend_, 128);
        ASSERT_TRUE(forward);
        forward_.emplace(std::move(*forward));
    }

    std::unique_ptr<Session> make(const KvSettings& settings, int chunk = 64) {
        SessionOptions options;
        options.kv = settings;
        options.prefill_chunk = chunk;
        Result<std::unique_ptr<Session>> session = Session::create(model_->config, *forward_, options);
        EXPECT_TRUE(session) << session.error().message;
        return std::move(*session);
    }
    static std::vector<float> prefill(Session& session, const std::vector<int32_t>& ids,
                                      const std::vector<Anchor>& anchors = {}) {
        Job job;
        const auto report = session.prefill(ids, anchors, job);
        EXPECT_TRUE(report) << report.error().message;
        return logits(session);
    }
    static std::vector<float> logits(const Session& session) {
        return {session.logits().begin(), session.logits().end()};
    }
    static float difference(const std::vector<float>& a, const std::vector<float>& b) {
        EXPECT_EQ(a.size(), b.size());
        float largest = 0;
        for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
        return largest;
    }
    static KvChange change(Session& session, const KvSettings& settings, KvChangeRoom room = KvChangeRoom::automatic) {
        Job job;
        return session.change_kv(settings, job, room);
    }

    std::shared_ptr<const Model> model_;
    std::unique_ptr<Backend> backend_;
    std::optional<Forward> forward_;
};

// How a prompt is split must not show, whatever is stored how: windows move, groups close, sinks fill inside a pass.
// Beyond the rounding of raw caches, a value that lies on a boundary between two codes may take the other one.
TEST_F(KvChangeTest, SplitsDoNotShowInAnyScheme) {
    const std::vector<int32_t> ids = some_ids(150, 3);
    for (const KvSchemeSpec& spec : kv_schemes()) {
        KvSettings settings = settings_of(std::string(spec.name).c_str());
        for (const bool overlay : {false, true}) {
            if (overlay && settings.scheme.raw()) continue;
            settings.window = overlay ? 20 : 0;
            settings.sinks = overlay ? 5 : 0;
            const float bound = settings.scheme.raw() ? 1e-3f : 3e-3f;
            const std::vector<float> whole = prefill(*make(settings, 128), ids);
            EXPECT_LE(difference(whole, prefill(*make(settings, 7), ids)), bound) << spec.name << overlay;
            EXPECT_LE(difference(whole, prefill(*make(settings, 1), ids)), bound) << spec.name << overlay;
            EXPECT_EQ(whole, prefill(*make(settings, 128), ids)) << spec.name << ": the same calls, other bits";
        }
    }
}

TEST_F(KvChangeTest, AWindowOverEverythingIsAlmostF16) {
    const std::vector<int32_t> ids = some_ids(100, 4);
    const std::vector<float> f16 = prefill(*make(settings_of("f16")), ids);
    for (const char* scheme : {"q4_0", "q2k", "kivi2", "k=q4r,v=q8_0"}) {
        KvSettings settings = settings_of(scheme, 200);
        settings.rotation = KvRotation::off;
        EXPECT_LE(difference(f16, prefill(*make(settings), ids)), 1e-3f) << scheme;
        EXPECT_GT(difference(f16, prefill(*make(settings_of(scheme)), ids)), 1e-3f) << scheme << " without a window";
    }
}

TEST_F(KvChangeTest, ASchemeChangesInTheMiddleOfAConversation) {
    const std::vector<int32_t> ids = some_ids(130, 5);
    const std::vector<float> f32 = prefill(*make(settings_of("f32")), ids);
    for (const KvSchemeSpec& spec : kv_schemes()) {
        const KvSettings settings = settings_of(std::string(spec.name).c_str());
        const auto session = make(settings_of("f32"));
        prefill(*session, {ids.begin(), ids.end() - 1});
        const KvChange done = change(*session, settings);
        ASSERT_EQ(done.outcome, KvChangeOutcome::changed) << spec.name << done.error->message;
        EXPECT_EQ(done.exact_from, 0) << spec.name << ": f32 loses nothing on the way";
        EXPECT_EQ(session->cache().settings(), settings);
        ASSERT_TRUE(session->decode(ids.back()));
        // The conversation goes on as one that was in this scheme from the start, up to what early cells saw.
        const float fresh = difference(prefill(*make(settings), ids), f32);
        EXPECT_LE(difference(logits(*session), f32), 2 * fresh + 1e-3f) << spec.name;
    }
}

TEST_F(KvChangeTest, ThereAndBackKeepsTheAnswer) {
    const std::vector<int32_t> ids = some_ids(130, 6);
    const auto session = make(settings_of("q4_0", 32, 8));
    const std::vector<float> before = prefill(*session, ids);
    const auto best = [](const std::vector<float>& row) {
        return std::max_element(row.begin(), row.end()) - row.begin();
    };
    ASSERT_EQ(change(*session, settings_of("q8_0", 32, 8)).outcome, KvChangeOutcome::changed);
    ASSERT_EQ(change(*session, settings_of("q4_0", 32, 8)).outcome, KvChangeOutcome::changed);
    ASSERT_TRUE(session->decode(static_cast<int32_t>(best(before))));
    const auto control = make(settings_of("q4_0", 32, 8));
    prefill(*control, ids);
    ASSERT_TRUE(control->decode(static_cast<int32_t>(best(before))));
    EXPECT_EQ(best(logits(*session)), best(logits(*control)));
}

TEST_F(KvChangeTest, WindowAndSinksWidenAndNarrow) {
    const std::vector<int32_t> ids = some_ids(130, 7);
    for (const char* scheme : {"q4_0", "q2k"}) {
        const auto session = make(settings_of(scheme, 32, 8));
        prefill(*session, {ids.begin(), ids.end() - 1});
        const KvChange narrow = change(*session, settings_of(scheme, 16, 4));
        ASSERT_EQ(narrow.outcome, KvChangeOutcome::changed);
        EXPECT_EQ(narrow.exact_from, 129 - 32);
        const KvChange wide = change(*session, settings_of(scheme, 64, 8));
        ASSERT_EQ(wide.outcome, KvChangeOutcome::changed);
        EXPECT_EQ(wide.exact_from, 129 - 16) << "only what the narrow window still held";
        ASSERT_TRUE(session->decode(ids.back()));
        // Narrow again: now equal to a session that had the narrow window throughout, but for what early cells saw.
        const std::vector<float> control = prefill(*make(settings_of(scheme, 64, 8)), ids);
        EXPECT_LE(difference(logits(*session), control), 2.0f) << scheme;
        for (float logit : logits(*session)) ASSERT_TRUE(std::isfinite(logit));
    }
}

TEST_F(KvChangeTest, NarrowingTheWindowReadsTheSameAsHavingHadIt) {
    // The last layer's reads alone differ: so the very next token after the change equals a conversation whose cells
    // are the same, which is what a cache with the wide window, read through the narrow one, gives.
    const std::vector<int32_t> ids = some_ids(90, 8);
    const auto wide_then_narrow = make(settings_of("q8_0", 64, 0));
    prefill(*wide_then_narrow, {ids.begin(), ids.end() - 1});
    ASSERT_EQ(change(*wide_then_narrow, settings_of("q8_0", 8, 0)).outcome, KvChangeOutcome::changed);
    ASSERT_TRUE(wide_then_narrow->decode(ids.back()));
    EXPECT_LE(difference(logits(*wide_then_narrow), prefill(*make(settings_of("q8_0", 8, 0)), ids)), 0.05f);
}

TEST_F(KvChangeTest, GoingBackAfterAChangeReadsWhatIsThere) {
    const std::vector<int32_t> ids = some_ids(120, 9);
    for (const char* scheme : {"q2k", "q8_0", "f16"}) {
        const auto session = make(settings_of("f32"));
        prefill(*session, ids, {{70, CheckpointKind::turn}});
        ASSERT_EQ(change(*session, settings_of(scheme)).outcome, KvChangeOutcome::changed);
        std::vector<int32_t> edited(ids.begin(), ids.begin() + 70);
        const std::vector<int32_t> tail = some_ids(40, 10);
        edited.insert(edited.end(), tail.begin(), tail.end());
        Job job;
        const auto report = session->prefill(edited, {}, job);
        ASSERT_TRUE(report);
        EXPECT_EQ(report->reused_tokens, 70) << scheme;
        const std::vector<float> fresh = prefill(*make(settings_of(scheme)), edited);
        const std::vector<float> f32 = prefill(*make(settings_of("f32")), edited);
        EXPECT_LE(difference(logits(*session), f32), 2 * difference(fresh, f32) + 1e-3f) << scheme;
    }
}

// A job that is cancelled once a number of steps is done.
TEST_F(KvChangeTest, CancelKeepsTheOldCacheOrSaysThatItIsLost) {
    const std::vector<int32_t> ids = some_ids(100, 11);
    const auto session = make(settings_of("q8_0", 16, 4));
    const std::vector<float> before = prefill(*session, {ids.begin(), ids.end() - 1});
    Job cancelled;
    cancelled.cancel();
    const KvChange kept = session->change_kv(settings_of("q4_0"), cancelled);
    EXPECT_EQ(kept.outcome, KvChangeOutcome::kept_old);
    ASSERT_TRUE(kept.error);
    EXPECT_EQ(kept.error->kind, ErrorKind::cancelled);
    ASSERT_TRUE(session->decode(ids.back()));
    const auto control = make(settings_of("q8_0", 16, 4));
    prefill(*control, {ids.begin(), ids.end() - 1});
    ASSERT_TRUE(control->decode(ids.back()));
    EXPECT_EQ(logits(*session), logits(*control)) << "bit for bit the old cache";
}

TEST_F(KvChangeTest, ChangesThatCannotBeAreRefusedAndChangeNothing) {
    const auto session = make(settings_of("q8_0"));
    prefill(*session, some_ids(40, 12));
    const KvChange refused = change(*session, settings_of("f16", 10));
    EXPECT_EQ(refused.outcome, KvChangeOutcome::kept_old);
    ASSERT_TRUE(refused.error);
    EXPECT_EQ(refused.error->kind, ErrorKind::usage);
    EXPECT_EQ(session->cache().settings(), settings_of("q8_0"));
    EXPECT_EQ(session->position(), 40);
}

TEST_F(KvChangeTest, WithoutRoomForBothTheOldPoolsGoLayerByLayer) {
    const std::vector<int32_t> ids = some_ids(100, 13);
    const auto with_room = make(settings_of("q8_0"));
    const auto without = make(settings_of("q8_0"));
    for (Session* session : {with_room.get(), without.get()}) prefill(*session, {ids.begin(), ids.end() - 1});
    ASSERT_EQ(change(*with_room, settings_of("q4_0"), KvChangeRoom::keep_old).outcome, KvChangeOutcome::changed);
    ASSERT_EQ(change(*without, settings_of("q4_0"), KvChangeRoom::release_old).outcome, KvChangeOutcome::changed);
    for (Session* session : {with_room.get(), without.get()}) ASSERT_TRUE(session->decode(ids.back()));
    EXPECT_EQ(logits(*with_room), logits(*without));
}

TEST_F(KvChangeTest, ACheckpointPaysOnlyForTheWindowThatIsThere) {
    const auto session = make(settings_of("q4_0", 4000));
    prefill(*session, some_ids(100, 14), {{40, CheckpointKind::turn}});
    const Checkpoint* checkpoint = session->checkpoints().at(40);
    ASSERT_NE(checkpoint, nullptr);
    const int64_t cell_bytes = int64_t{2} * 2 * 32 * 2;  // K and V, two heads of 32, FP16
    EXPECT_LT(checkpoint->bytes(), session->recurrent_bytes() + 2 * 40 * cell_bytes + 5000);
    // And what it holds brings the window back.
    const std::vector<int32_t> ids = some_ids(100, 14);
    std::vector<int32_t> edited(ids.begin(), ids.begin() + 40);
    edited.push_back('x');
    const std::vector<float> resumed = prefill(*session, edited);
    EXPECT_LE(difference(resumed, prefill(*make(settings_of("q4_0", 4000)), edited)), 1e-3f);
}

TEST_F(KvChangeTest, RebuildReadsTheTextAgainExactly) {
    const std::vector<int32_t> ids = some_ids(130, 15);
    const auto session = make(settings_of("q2"));
    prefill(*session, ids, {{50, CheckpointKind::turn}});
    ASSERT_EQ(change(*session, settings_of("q8_0")).outcome, KvChangeOutcome::changed);
    Job job;
    const auto report = session->rebuild(job);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(report->prefilled_tokens, 130);
    EXPECT_EQ(session->position(), 130);
    EXPECT_NE(session->checkpoints().at(50), nullptr) << "checkpoints are made again";
    EXPECT_LE(difference(logits(*session), prefill(*make(settings_of("q8_0")), ids)), 3e-3f);

    Job cancelled;
    cancelled.cancel();
    const auto kept = make(settings_of("q8_0"));
    prefill(*kept, {ids.begin(), ids.end() - 1});
    const auto stopped = kept->rebuild(cancelled);
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().kind, ErrorKind::cancelled);
    EXPECT_EQ(kept->position(), 129);
    ASSERT_TRUE(kept->decode(ids.back()));
    const auto control = make(settings_of("q8_0"));
    prefill(*control, {ids.begin(), ids.end() - 1});
    ASSERT_TRUE(control->decode(ids.back()));
    EXPECT_EQ(logits(*kept), logits(*control)) << "a cancelled rebuild changes nothing";
}

}  // namespace
}  // namespace octavo
