#include "runtime/recall/score.h"

#include <gtest/gtest.h>

#include "runtime/recall/facts.h"

namespace octavo {
namespace {

RecallQuestion asking(std::vector<std::string> expected) {
    RecallQuestion question;
    question.expected = std::move(expected);
    return question;
}

RecallOutcome outcome(std::vector<std::string> expected, std::string_view answer, bool ended = true) {
    return score_answer(asking(std::move(expected)), answer, ended).outcome;
}

TEST(RecallScore, Outcomes) {
    EXPECT_EQ(outcome({"QUARTZ-DELTA-8813"}, " QUARTZ-DELTA-8813"), RecallOutcome::correct);
    EXPECT_EQ(outcome({"QUARTZ-DELTA-8813"}, "It is QUARTZ-DELTA-8813."), RecallOutcome::correct);
    EXPECT_EQ(outcome({"QUARTZ-DELTA-8813"}, "QUARTZ-DELTA-88134"), RecallOutcome::wrong);
    EXPECT_EQ(outcome({"4823901"}, "4823907"), RecallOutcome::wrong);
    EXPECT_EQ(outcome({"green"}, "evergreen"), RecallOutcome::wrong);
    EXPECT_EQ(outcome({"green"}, " \n"), RecallOutcome::empty);
    EXPECT_EQ(outcome({"green"}, "I could not find that in the text."), RecallOutcome::refused);
    EXPECT_EQ(outcome({"green"}, "the red the red the red the red", false), RecallOutcome::looping);
    EXPECT_EQ(outcome({"green"}, "I1IIIIIIIIIIIIIIIIII", false), RecallOutcome::looping);
    EXPECT_EQ(outcome({"green"}, "1111111", false), RecallOutcome::wrong);
    EXPECT_EQ(outcome({"green"}, "the red the red the red the red", true), RecallOutcome::wrong) << "it ended";
    EXPECT_EQ(outcome({"A-1", "B-2"}, "B-2, A-1"), RecallOutcome::correct);
    EXPECT_EQ(outcome({"A-1", "B-2"}, "A-1"), RecallOutcome::wrong);
}

TEST(RecallScore, WhereNothingIsThereNothingButThatIsRight) {
    EXPECT_EQ(outcome({}, "I could not find that in the text."), RecallOutcome::correct);
    EXPECT_EQ(outcome({}, "The text does not mention it."), RecallOutcome::correct);
    EXPECT_EQ(outcome({}, "Not found, but perhaps QUARTZ-DELTA-8813."), RecallOutcome::wrong);
    EXPECT_EQ(outcome({}, "QUARTZ-DELTA-8813"), RecallOutcome::wrong);
}

TEST(RecallScore, PartialCredit) {
    const auto partial = [](std::vector<std::string> expected, std::string_view answer) {
        return score_answer(asking(std::move(expected)), answer, true).partial;
    };
    EXPECT_NEAR(partial({"QUARTZ-DELTA-8813"}, "QUARTZ-DELTA-8812"), 2.0 / 3, 1e-12);
    EXPECT_NEAR(partial({"4823901"}, "4823"), 4.0 / 7, 1e-12);
    EXPECT_NEAR(partial({"A-1", "B-2"}, "A-1"), 0.5, 1e-12);
    EXPECT_EQ(partial({"green"}, "blue"), 0);
}

TEST(RecallScore, Codes) {
    EXPECT_TRUE(looks_like_a_code("it is MARBLE-ONYX-1234"));
    EXPECT_TRUE(looks_like_a_code("4823901"));
    EXPECT_FALSE(looks_like_a_code("I could not find that in the text."));
    EXPECT_FALSE(looks_like_a_code("well-known, since 312"));
}

}  // namespace
}  // namespace octavo
