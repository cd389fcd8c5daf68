#include "runtime/measure/fidelity.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "runtime/measure/activations.h"
#include "runtime/measure/sample_text.h"
#include "tests/support/random_model.h"

namespace octavo {
namespace {

TEST(Fidelity, DivergenceOfTwoDistributions) {
    // Probabilities 1/2, 1/4, 1/4 and 1/4, 1/2, 1/4: KL = 1/2 ln 2 - 1/4 ln 2.
    const float half = 0;
    const float quarter = -std::log(2.0f);
    const std::vector<float> a = {half, quarter, quarter};
    const std::vector<float> b = {3 + quarter, 3 + half, 3 + quarter};  // any constant may be added
    const PositionFidelity found = compare_position(a, b, 1);
    EXPECT_NEAR(found.kl, 0.25 * std::log(2.0), 1e-6);
    EXPECT_FALSE(found.same_best);
    EXPECT_NEAR(found.next_log_probability, -std::log(2.0), 1e-6);

    const PositionFidelity same = compare_position(a, a, -1);
    EXPECT_EQ(same.kl, 0);
    EXPECT_TRUE(same.same_best);

    const std::vector<float> broken = {0, NAN, 0};
    EXPECT_EQ(compare_position(a, broken, -1).kl, HUGE_VAL);
}

TEST(Fidelity, ScoresOverPositions) {
    std::vector<PositionFidelity> positions;
    for (int i = 1; i <= 1000; ++i) positions.push_back({static_cast<double>(i), i % 4 != 0, -std::log(8.0)});
    positions.back().next_log_probability = 0;  // the last token of the text
    const FidelityScores scores = score_positions(positions, false);
    EXPECT_EQ(scores.positions, 1000);
    EXPECT_NEAR(scores.mean_kl, 500.5, 1e-9);
    EXPECT_EQ(scores.median_kl, 500);
    EXPECT_EQ(scores.kl_999, 999);
    EXPECT_NEAR(scores.top1, 0.75, 1e-12);
    EXPECT_NEAR(scores.perplexity, 8, 1e-9);
}

TEST(Fidelity, SampleTextIsTheSameForTheSameSeedAndGrowsAtItsEnd) {
    const std::string text = sample_text(1, 3000);
    EXPECT_GE(text.size(), 3000u);
    EXPECT_EQ(sample_text(1, 3000), text);
    EXPECT_NE(sample_text(2, 3000), text);
    EXPECT_TRUE(sample_text(1, 9000).starts_with(text));
}

class FidelityRun : public testing::Test {
  protected:
    static constexpr int64_t tokens = 700;  // more than a block

    void SetUp() override {
        Result<std::unique_ptr<Engine>> engine = Engine::create(test::random_model(), {{DeviceChoice::cpu}, {}});
        ASSERT_TRUE(engine) << engine.error().message;
        engine_ = std::move(*engine);
        Result<std::vector<int32_t>> ids = engine_->model().tokenizer->encode_text(sample_text(1, tokens));
        ASSERT_TRUE(ids);
        request_.ids.assign(ids->begin(), ids->begin() + tokens);
    }
    static KvSettings settings(std::string_view scheme) {
        KvSettings settings;
        settings.scheme = *parse_kv_scheme(scheme);
        return settings;
    }
    FidelityReport measure() {
        Job job;
        Result<FidelityReport> report = measure_fidelity(*engine_, request_, job);
        EXPECT_TRUE(report) << report.error().message;
        EXPECT_EQ(job.progress().done, job.progress().total);
        return report ? std::move(*report) : FidelityReport{};
    }

    std::unique_ptr<Engine> engine_;
    FidelityRequest request_;
};

TEST_F(FidelityRun, ASchemeAgainstItselfIsTheSame) {
    for (const char* scheme : {"f16", "q4_0", "q2k"}) {
        request_.reference = settings(scheme);
        request_.candidates = {settings(scheme)};
        const FidelityReport report = measure();
        ASSERT_EQ(report.rows.size(), 1u);
        const FidelityRow& row = report.rows.front();
        EXPECT_EQ(row.all.positions, tokens);
        EXPECT_EQ(row.all.mean_kl, 0) << scheme;
        EXPECT_EQ(row.all.kl_999, 0) << scheme;
        EXPECT_EQ(row.all.top1, 1) << scheme;
        EXPECT_EQ(row.all.perplexity, report.reference.all.perplexity);
        EXPECT_TRUE(std::isfinite(row.all.perplexity));
        EXPECT_EQ(
            row.buckets[0].positions + row.buckets[1].positions + row.buckets[2].positions + row.buckets[3].positions,
            tokens);
    }
}

TEST_F(FidelityRun, FewerBitsDivergeMoreAndAWindowDivergesLess) {
    request_.reference = settings("f16");
    KvSettings window = settings("q2");
    window.window = 600;
    // More than stand side by side in one group, so that the reference runs twice.
    request_.candidates = {settings("q8_0"),     settings("q6_0"), settings("q4_0"), settings("q2"), window,
                           settings("fp8_e4m3"), settings("q8r"),  settings("q6r"),  settings("q4r")};
    const FidelityReport report = measure();
    ASSERT_EQ(report.rows.size(), request_.candidates.size());
    for (size_t i = 0; i < report.rows.size(); ++i) EXPECT_EQ(report.rows[i].kv, request_.candidates[i]);
    const auto kl = [&report](size_t row) { return report.rows[row].all.mean_kl; };
    EXPECT_GT(kl(0), 0);
    EXPECT_LT(kl(0), kl(1));
    EXPECT_LT(kl(1), kl(2));
    EXPECT_LT(kl(2), kl(3));
    EXPECT_LT(kl(4), kl(3) / 2);
    EXPECT_LT(kl(0), kl(3) / 100);
    EXPECT_GE(report.rows[0].all.top1, report.rows[3].all.top1);
}

TEST_F(FidelityRun, CancelAndBadRequestsAreTold) {
    request_.candidates = {settings("q8_0")};
    Job cancelled;
    cancelled.cancel();
    const Result<FidelityReport> stopped = measure_fidelity(*engine_, request_, cancelled);
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().kind, ErrorKind::cancelled);

    Job job;
    request_.candidates.front().window = 1 << 20;
    const Result<FidelityReport> wide = measure_fidelity(*engine_, request_, job);
    ASSERT_FALSE(wide);
    EXPECT_EQ(wide.error().kind, ErrorKind::usage);

    request_.ids.resize(1);
    EXPECT_FALSE(measure_fidelity(*engine_, request_, job));
}

TEST_F(FidelityRun, RecordedActivationsAreWhatTheCacheHolds) {
    Job job;
    const std::span<const int32_t> ids(request_.ids);
    const auto layers = record_activations(test::random_model(), {{DeviceChoice::cpu}, {}}, ids, 20, job);
    ASSERT_TRUE(layers) << layers.error().message;
    ASSERT_EQ(layers->size(), 2u);
    EXPECT_EQ(layers->front().family, "layer 4");
    const auto backend = make_cpu_backend(1, detect_cpu_isa());
    for (size_t layer = 0; layer < layers->size(); ++layer) {
        const KvActivations& recorded = (*layers)[layer];
        ASSERT_TRUE(check_activations(recorded)) << check_activations(recorded).error().message;
        const Status read = engine_->call("held", [&](Session& session) -> Status {
            session.clear();
            if (Status status = session.append(
                    ids, 0, [](int64_t, int, const float*) {}, job);
                !status)
                return status;
            std::vector<float> k(recorded.k.size());
            std::vector<float> v(recorded.v.size());
            backend->kv_load(
                {session.cache().view(static_cast<int>(layer)), 0, static_cast<int>(tokens), k.data(), v.data()},
                tokens - 1);
            for (size_t i = 0; i < k.size(); ++i) {
                if (k[i] != f16_to_f32(f32_to_f16(recorded.k[i])) || v[i] != f16_to_f32(f32_to_f16(recorded.v[i])))
                    return Error{ErrorKind::input, "other values in layer " + std::to_string(layer)};
            }
            return {};
        });
        EXPECT_TRUE(read) << read.error().message;
    }
}

}  // namespace
}  // namespace octavo
