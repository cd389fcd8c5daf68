#include "runtime/recall/recall_summary.h"

#include <gtest/gtest.h>

#include <cmath>

namespace octavo {
namespace {

const KvSettings kReference = default_kv_settings({KvFormat::bf16, KvFormat::bf16});
const KvSettings kCandidate = default_kv_settings({KvFormat::q4_0, KvFormat::q4_0});

RecallAnswer answer(double depth, bool correct, double log_probability) {
    RecallAnswer made;
    made.question.expected = {"QUARTZ-DELTA-8813"};
    made.question.cells = {static_cast<int64_t>(depth * 1000), static_cast<int64_t>(depth * 1000) + 20};
    made.question.depth = depth;
    made.scored = true;
    made.outcome = correct ? RecallOutcome::correct : RecallOutcome::wrong;
    made.partial = correct ? 1 : 0.5;
    made.likelihood = ValueLikelihood{log_probability, correct ? 1 : 3, correct ? 2.0 : -1.0};
    return made;
}

RecallSection section(const KvSettings& kv, const std::vector<RecallAnswer>& answers) {
    RecallSection made;
    made.kv = kv;
    made.is_reference = kv == kReference;
    made.length = 1000;
    made.seed = 1;
    made.answers = answers;
    return made;
}

TEST(RecallSummary, WilsonInterval) {
    // Values of the published formula: 3 of 3 is at least 44%, 40 of 40 at least 91%.
    EXPECT_NEAR(wilson_interval(3, 3).low, 0.4385, 5e-4);
    EXPECT_NEAR(wilson_interval(40, 40).low, 0.9124, 5e-4);
    EXPECT_EQ(wilson_interval(40, 40).high, 1);
    EXPECT_NEAR(wilson_interval(0, 10).high, 0.2775, 5e-4);
    EXPECT_NEAR(wilson_interval(8, 10).low, 0.4902, 5e-4);
    EXPECT_NEAR(wilson_interval(8, 10).high, 0.9433, 5e-4);
    EXPECT_EQ(wilson_interval(0, 0).low, 0);
    EXPECT_EQ(wilson_interval(0, 0).high, 1);
}

TEST(RecallSummary, CellsHoldTheirPartOfTheTextAndOnlyWhatIsScored) {
    RecallReport report;
    std::vector<RecallAnswer> answers = {answer(0.05, true, -0.1), answer(0.15, false, -2), answer(0.95, true, -0.2)};
    answers.push_back(answer(0.99, true, 0));
    answers.back().scored = false;
    answers.back().zone = RecallZone::window;
    report.sections = {section(kCandidate, answers)};
    const std::vector<RecallCell> cells = recall_cells(report);
    ASSERT_EQ(cells.size(), 3u);
    EXPECT_EQ(cells[0].depth, 10);
    EXPECT_EQ(cells[0].score.n, 2);
    EXPECT_EQ(cells[0].score.correct(), 1);
    EXPECT_NEAR(cells[0].score.partial, 0.75, 1e-12);
    EXPECT_NEAR(cells[0].score.mean_log_probability, -1.05, 1e-12);
    EXPECT_EQ(cells[0].score.best_rank, 1);
    EXPECT_EQ(cells[1].depth, 90);
    EXPECT_EQ(cells[1].score.n, 1);
    EXPECT_EQ(cells[2].zone, RecallZone::window) << "shown, but apart";
    ASSERT_EQ(recall_totals(report).size(), 1u);
    EXPECT_EQ(recall_totals(report)[0].score.n, 3) << "what is not scored does not count";
}

TEST(RecallSummary, DifferencesArePaired) {
    std::vector<RecallAnswer> before, after;
    for (int i = 0; i < 20; ++i) {
        const bool right_before = i != 0;
        const bool right_after = i >= 6 || i == 0;  // five lost, one gained
        before.push_back(answer(i / 20.0, right_before, -0.1));
        after.push_back(answer(i / 20.0, right_after, -0.3));
    }
    RecallReport report;
    report.sections = {section(kReference, before), section(kCandidate, after)};
    const std::vector<RecallDifference> differences = recall_differences(report);
    ASSERT_EQ(differences.size(), 1u);
    EXPECT_EQ(differences[0].n, 20);
    EXPECT_EQ(differences[0].lost, 5);
    EXPECT_EQ(differences[0].gained, 1);
    EXPECT_NEAR(differences[0].difference, -0.2, 1e-12);
    // (1+1)/22 - (5+1)/22 -+ 1.96 sqrt((8/22 - (4/22)^2) / 22)
    EXPECT_NEAR(differences[0].interval.low, -4.0 / 22 - 1.959964 * std::sqrt((8.0 / 22 - 16.0 / 484) / 22), 1e-9);
    EXPECT_NEAR(differences[0].interval.high, -4.0 / 22 + 1.959964 * std::sqrt((8.0 / 22 - 16.0 / 484) / 22), 1e-9);
    EXPECT_NEAR(differences[0].p_value, 2 * 7.0 / 64, 1e-9);
    EXPECT_NEAR(differences[0].log_probability, -0.2, 1e-12);

    report.sections.erase(report.sections.begin());
    EXPECT_TRUE(recall_differences(report).empty()) << "nothing to compare with";
}

TEST(RecallSummary, MaskedControlAllowsOneInForty) {
    std::vector<RecallAnswer> answers;
    for (int i = 0; i < 40; ++i) {
        answers.push_back(answer(i / 40.0, i == 0, -1));
        answers.back().question.purpose = RecallPurpose::masked;
        answers.back().scored = false;
    }
    RecallReport report;
    report.sections = {section(kCandidate, answers)};
    ASSERT_EQ(recall_controls(report).size(), 1u);
    EXPECT_EQ(recall_controls(report)[0].masked_right, 1);
    EXPECT_TRUE(recall_controls(report)[0].masked_holds());
    report.sections[0].answers[1].outcome = RecallOutcome::correct;
    EXPECT_FALSE(recall_controls(report)[0].masked_holds());
}

}  // namespace
}  // namespace octavo
