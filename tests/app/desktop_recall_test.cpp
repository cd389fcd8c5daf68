// The recall check of the desktop with a scripted engine: it runs beside the chat, keeps what there is, and is found
// again.
#include <fstream>

#include "tests/app/desktop_fixture.h"

namespace octavo {
namespace {

using test::DesktopFixture;

class DesktopRecall : public DesktopFixture {
  protected:
    // One document under one setting: `right` of ten needles, spread over the text.
    static RecallSection section(const KvSettings& kv, bool is_reference, int right) {
        RecallSection section;
        section.kv = kv;
        section.is_reference = is_reference;
        section.length = 4096;
        section.seed = 1;
        for (int i = 0; i < 10; ++i) {
            RecallAnswer answer;
            answer.question.text = "What is the access code of the mill?";
            answer.question.expected = {"AMBER-4417"};
            answer.question.cells = {400 * i, 400 * i + 12};
            answer.question.depth = 0.05 + 0.1 * i;
            answer.scored = true;
            answer.outcome = i < right ? RecallOutcome::correct : RecallOutcome::wrong;
            answer.text = i < right ? "AMBER-4417" : "EMBER-4417";
            section.answers.push_back(answer);
        }
        return section;
    }
    RecallReport report(bool cancelled = false) {
        RecallReport report;
        report.plan.candidates = {default_kv_settings(*parse_kv_scheme("q4_0"))};
        report.plan.reference = default_kv_settings(*parse_kv_scheme("f16"));
        report.plan.lengths = {4096};
        report.model = "Pocket";
        report.backend = "cpu";
        report.sections = {section(*report.plan.reference, true, 10), section(report.plan.candidates[0], false, 7)};
        report.cancelled = cancelled;
        return report;
    }
    void start_check() {
        start_with_model();
        act(action::ApplyKv{{default_kv_settings(*parse_kv_scheme("q4_0")), look().kv.applied.equalise, 65536}});
        act(action::StartRecall{{4096, 16384}, 40, true, false});
        ASSERT_EQ(engine_->recalls.size(), 1u);
    }
};

TEST_F(DesktopRecall, RunsThePresentSettingsBesideTheChat) {
    start_check();
    const RecallPlan& plan = engine_->recalls[0];
    ASSERT_EQ(plan.candidates.size(), 1u);
    EXPECT_EQ(plan.candidates[0], default_kv_settings(*parse_kv_scheme("q4_0")));
    EXPECT_EQ(plan.lengths, (std::vector<int64_t>{4096, 16384}));
    EXPECT_EQ(plan.needles, 40);
    EXPECT_TRUE(look().recall.running);
    EXPECT_EQ(look().engine.phase, EnginePhase::measuring);
    now_ms_ += 10'000;
    engine_->put(RecallProgressed{{25, 100}, nullptr});
    EXPECT_EQ(look().recall.done, 25);
    EXPECT_DOUBLE_EQ(look().recall.seconds_left, 30);
    send("hello");  // the chat goes on
}

TEST_F(DesktopRecall, ShowsWhatThereIsWhileItRuns) {
    start_check();
    RecallReport so_far = report();
    so_far.sections.pop_back();
    engine_->put(RecallProgressed{{50, 100}, std::make_shared<const RecallReport>(so_far)});
    ASSERT_TRUE(look().recall.shown);
    EXPECT_FALSE(look().recall.shown->complete);
    EXPECT_EQ(look().recall.shown->schemes.size(), 1u);
}

TEST_F(DesktopRecall, HasSquaresDifferencesAndAnswers) {
    start_check();
    engine_->put(RecallEnded{report()});
    until([&] { return look().recall.shown && look().recall.shown->id != 0; });
    const RecallRunView& run = *look().recall.shown;
    ASSERT_EQ(run.schemes.size(), 2u);
    EXPECT_TRUE(run.schemes[0].reference);
    EXPECT_EQ(run.schemes[1].correct, 7);
    EXPECT_EQ(run.schemes[1].wrong, 3);
    ASSERT_EQ(run.schemes[1].cells.size(), 5u);
    const RecallCellView& last = run.schemes[1].cells[4];
    EXPECT_EQ(last.depth_percent, 90);
    EXPECT_EQ(last.correct, 0);
    ASSERT_EQ(last.answers.size(), 2u);
    EXPECT_EQ(last.answers[1].first_token, 3600);
    EXPECT_EQ(last.answers[1].expected, "AMBER-4417");
    EXPECT_EQ(last.answers[1].answer, "EMBER-4417");
    ASSERT_EQ(run.differences.size(), 1u);
    EXPECT_NE(run.differences[0].find("-30.0 points"), std::string::npos) << run.differences[0];
    until([&] { return look().recall.history.size() == 1; });
}

TEST_F(DesktopRecall, AStoppedRunIsKept) {
    start_check();
    act(action::StopRecall{});
    EXPECT_EQ(engine_->stopped_recalls, 1);
    EXPECT_TRUE(look().recall.stopping);
    engine_->put(RecallEnded{report(true)});
    until([&] { return look().recall.history.size() == 1; });
    EXPECT_FALSE(look().recall.running);
    EXPECT_FALSE(look().recall.shown->complete);
}

TEST_F(DesktopRecall, AFailedRunSaysWhy) {
    start_check();
    engine_->put(RecallEnded{Error{ErrorKind::memory, "Not enough memory for 16,384 tokens."}});
    until([&] { return !look().recall.running; });
    EXPECT_EQ(look().recall.error, "Not enough memory for 16,384 tokens.");
}

TEST_F(DesktopRecall, EarlierRunsAreFoundAgainAndExported) {
    start_check();
    engine_->put(RecallEnded{report()});
    until([&] { return look().recall.history.size() == 1; });
    restart();
    until([&] { return look().recall.history.size() == 1; });
    const int64_t id = look().recall.history[0].id;
    EXPECT_NE(look().recall.history[0].text.find("q4_0"), std::string::npos);
    act(action::OpenRecallRun{id});
    until([&] { return look().recall.shown && look().recall.shown->id == id; });
    EXPECT_EQ(look().recall.shown->schemes.at(1).correct, 7);

    const std::string path = testing::TempDir() + "/octavo_recall_test.csv";
    std::remove(path.c_str());
    act(action::ExportRecallRun{id, action::RecallExportFormat::csv});
    EXPECT_EQ(look().file_browser.file_name, "recall.csv");
    act(action::ChooseFile{FilePurpose::export_recall, path});
    until([&] { return says("Saved as"); });
    std::ifstream file(path);
    std::string line;
    int lines = 0;
    while (std::getline(file, line)) ++lines;
    EXPECT_EQ(lines, 21);

    act(action::DeleteRecallRun{id});
    until([&] { return look().recall.history.empty(); });
}

TEST_F(DesktopRecall, ASweepIsARunForEachWindow) {
    start_with_model();
    act(action::ApplyKv{{default_kv_settings(*parse_kv_scheme("q4_0")), look().kv.applied.equalise, 65536}});
    act(action::StartRecall{{4096}, 20, false, true});
    ASSERT_EQ(engine_->recalls.size(), 1u);
    ASSERT_EQ(engine_->recalls[0].candidates.size(), 4u);
    EXPECT_EQ(engine_->recalls[0].candidates[0].window, 0);
    EXPECT_EQ(engine_->recalls[0].candidates[3].window, 1024);
    EXPECT_EQ(engine_->recalls[0].fidelity_positions, 0);
}

TEST_F(DesktopRecall, OnlyLengthsThatFitAreOffered) {
    start_with_model();
    act(action::ApplyKv{{default_kv_settings(*parse_kv_scheme("q4_0")), look().kv.applied.equalise, 20480}});
    EXPECT_EQ(look().recall.lengths, (std::vector<int64_t>{4096, 16384, 19456}));
}

}  // namespace
}  // namespace octavo
