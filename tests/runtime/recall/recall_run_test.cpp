// Whole runs with the bundled model, small ones.
#include "runtime/recall/recall_run.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/forwarding_backend.h"
#include "models/bundled/bundled.h"
#include "runtime/recall/recall_summary.h"

namespace octavo {
namespace {

std::shared_ptr<const Model> pocket() {
    static const Result<std::shared_ptr<const Model>> model = open_model(bundled_model(), "bundled");
    EXPECT_TRUE(model) << model.error().message;
    return *model;
}

std::unique_ptr<Engine> engine() {
    Result<std::unique_ptr<Engine>> made = Engine::create(pocket(), {{DeviceChoice::cpu}, {}});
    EXPECT_TRUE(made) << made.error().message;
    return std::move(*made);
}

RecallPlan small_plan() {
    RecallPlan plan;
    plan.candidates = {default_kv_settings({KvFormat::q4_0, KvFormat::q4_0})};
    plan.candidates[0].window = 128;
    plan.lengths = {1024};
    plan.families = {RecallFamily::word_code, RecallFamily::digits};
    plan.needles = 8;
    plan.fidelity_positions = 512;
    return plan;
}

RecallReport run(Engine& engine, const RecallRequest& request, const RecallListener& listener = {}) {
    Job job;
    const Result<RecallReport> report = run_recall(engine, request, job, listener);
    EXPECT_TRUE(report) << report.error().message;
    return report ? *report : RecallReport{};
}

void expect_same(const RecallSection& a, const RecallSection& b) {
    EXPECT_EQ(a.kv, b.kv);
    EXPECT_EQ(a.prompt_hash, b.prompt_hash);
    ASSERT_EQ(a.answers.size(), b.answers.size());
    for (size_t i = 0; i < a.answers.size(); ++i) {
        EXPECT_EQ(a.answers[i].text, b.answers[i].text);
        ASSERT_EQ(a.answers[i].likelihood.has_value(), b.answers[i].likelihood.has_value());
        const double likelihood = a.answers[i].likelihood.value_or(ValueLikelihood{}).mean_log_probability;
        EXPECT_EQ(likelihood, b.answers[i].likelihood.value_or(ValueLikelihood{}).mean_log_probability);
    }
    ASSERT_EQ(a.fidelity.has_value(), b.fidelity.has_value());
    EXPECT_EQ(a.fidelity.value_or(FidelityScores{}).mean_kl, b.fidelity.value_or(FidelityScores{}).mean_kl);
}

TEST(RecallRun, OneReadingAnswersAllAndLeavesConversationsAlone) {
    const auto chat = engine();
    const std::vector<int32_t> ids = *pocket()->tokenizer->encode_text("A conversation that somebody has open.");
    std::vector<float> logits;
    ASSERT_TRUE(chat->call("chat", [&](Session& session) -> Status {
        Job job;
        const auto read = session.prefill(ids, {}, job);
        logits.assign(session.logits().begin(), session.logits().end());
        return read ? Status() : Status(read.error());
    }));

    const RecallReport report = run(*chat, {small_plan(), {}});
    ASSERT_EQ(report.sections.size(), 4u) << "two settings, with and without needles";
    for (const RecallSection& section : report.sections) {
        EXPECT_EQ(section.document.tokens, 1024) << "read once";
        EXPECT_EQ(section.bare, &section >= &report.sections[2]);
        EXPECT_TRUE(section.repeat_identical.value_or(false));
    }
    EXPECT_TRUE(report.sections[0].is_reference);
    EXPECT_FALSE(report.sections[0].fidelity);
    ASSERT_TRUE(report.sections[1].fidelity);
    EXPECT_EQ(report.sections[1].fidelity->positions, 512);
    EXPECT_GT(report.sections[1].fidelity->mean_kl, 0);
    EXPECT_EQ(report.sections[1].prompt_hash, report.sections[0].prompt_hash);

    for (const RecallTotal& total : recall_totals(report)) {
        EXPECT_EQ(total.score.n, 8);
        EXPECT_GE(total.score.correct(), 7) << describe_kv_settings(total.kv);
    }
    for (const RecallControls& controls : recall_controls(report)) {
        EXPECT_EQ(controls.masked_n, 8);
        EXPECT_EQ(controls.masked_right, 0) << "answers are read from the needles' cells";
        EXPECT_EQ(controls.bare_codes, 0);
        EXPECT_GE(controls.absent_refused, 8);
    }
    // Needles in a sink and in the window are shown, and not scored.
    int sinks = 0, windows = 0;
    for (const RecallAnswer& answer : report.sections[1].answers) {
        if (answer.question.purpose != RecallPurpose::zone) continue;
        EXPECT_FALSE(answer.scored);
        sinks += answer.zone == RecallZone::sink ? 1 : 0;
        windows += answer.zone == RecallZone::window ? 1 : 0;
    }
    EXPECT_EQ(sinks, 1);
    EXPECT_EQ(windows, 1);

    ASSERT_TRUE(chat->call("chat", [&](Session& session) -> Status {
        EXPECT_TRUE(std::ranges::equal(session.tokens(), ids));
        EXPECT_TRUE(std::ranges::equal(session.logits(), logits));
        EXPECT_EQ(session.cache().settings(), chat->info().kv);
        return {};
    }));
}

TEST(RecallRun, StoppedRunGoesOnToTheSameResult) {
    RecallPlan plan = small_plan();
    plan.controls = false;
    plan.needles = 4;
    plan.lengths = {600};
    const auto fast = engine();
    const RecallReport whole = run(*fast, {plan, {}});
    ASSERT_EQ(whole.sections.size(), 2u);

    Job job;
    const auto stop = [&job](const RecallReport&) { job.cancel(); };
    const Result<RecallReport> stopped = run_recall(*fast, {plan, {}}, job, stop);
    ASSERT_TRUE(stopped) << stopped.error().message;
    EXPECT_TRUE(stopped->cancelled);
    ASSERT_EQ(stopped->sections.size(), 1u);

    const RecallReport resumed = run(*fast, {plan, stopped->sections});
    EXPECT_FALSE(resumed.cancelled);
    ASSERT_EQ(resumed.sections.size(), 2u);
    for (size_t i = 0; i < 2; ++i) expect_same(resumed.sections[i], whole.sections[i]);
    EXPECT_EQ(resumed.sections[0].document.seconds, stopped->sections[0].document.seconds) << "not run again";
}

// A CPU back end whose 4-bit codec has the two values of one byte of every block the wrong way round.
class SwappedNibble final : public ForwardingBackend {
  public:
    using ForwardingBackend::ForwardingBackend;

    bool kv_store(const KvRows& rows) override {
        if (!ForwardingBackend::kv_store(rows)) return false;
        const KvView& cache = rows.cache;
        for (int64_t cell = rows.first_cell; cell < rows.first_cell + rows.tokens; ++cell) {
            for (int head = 0; head < cache.kv_heads; ++head) {
                for (const KvSide* side : {&cache.k, &cache.v}) {
                    if (side->format != KvFormat::q4_0) continue;
                    std::byte* row = kv_payload_at(cache, *side, cell, head);
                    for (int block = 0; block < cache.head_dim / 32; ++block) {
                        std::byte& byte = row[16 * block + 5];
                        byte = byte << 4 | byte >> 4;
                    }
                }
            }
        }
        return true;
    }
};

TEST(RecallRun, ABrokenCodecIsSeenWhereAnswersStayRight) {
    RecallPlan plan = small_plan();
    plan.controls = false;
    const RecallReport sound = run(*engine(), {plan, {}});
    auto broken_engine =
        Engine::create(pocket(), {}, std::make_unique<SwappedNibble>(make_cpu_backend(0, detect_cpu_isa())));
    ASSERT_TRUE(broken_engine) << broken_engine.error().message;
    const RecallReport broken = run(**broken_engine, {plan, {}});

    constexpr double most_kl = 3e-3;  // what `octavo --test` allows q4_0 here
    const RecallScore before = recall_totals(sound)[1].score;
    const RecallScore after = recall_totals(broken)[1].score;
    EXPECT_EQ(before.correct(), before.n);
    EXPECT_GE(after.correct(), after.n - 1) << "answers hardly show it";
    EXPECT_LT(sound.sections[1].fidelity->mean_kl, most_kl) << "what a sound q4_0 stays below";
    EXPECT_GT(broken.sections[1].fidelity->mean_kl, 2 * most_kl);
}

TEST(RecallRun, WhatCannotBeRunIsRefused) {
    const auto fast = engine();
    const auto refusal = [&fast](const RecallPlan& plan) {
        const Result<RecallReport> report = prepare_recall(*fast, plan);
        return report ? std::string() : report.error().message;
    };
    EXPECT_EQ(refusal(small_plan()), "");
    RecallPlan plan = small_plan();
    plan.needles = 0;
    EXPECT_NE(refusal(plan).find("0 needles"), std::string::npos);
    plan = small_plan();
    plan.candidates[0].window = 1024;
    EXPECT_NE(refusal(plan).find("bulk"), std::string::npos) << refusal(plan);
    plan = small_plan();
    plan.lengths = {1024, 1 << 30};
    const Result<RecallReport> cut = prepare_recall(*fast, plan);
    ASSERT_TRUE(cut) << cut.error().message;
    EXPECT_EQ(cut->plan.lengths.back(), pocket()->config.context_length - 256);
    EXPECT_EQ(cut->notes.size(), 1u) << "said, not silent";
}

}  // namespace
}  // namespace octavo
