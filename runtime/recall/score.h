// What a model's answer to a recall question is worth.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "runtime/recall/recall_report.h"

namespace octavo {

struct AnswerScore {
    RecallOutcome outcome = RecallOutcome::empty;
    double partial = 0;
};

// `answer`: as the model gave it; `ended`: it ended its turn by itself within its budget.
//  - correct: every expected value stands in it as a whole word. Where nothing is expected: it says that the text does
//    not hold it, and names no code.
//  - partial: share of the expected values' parts (divided by hyphens and, in numbers, digit by digit from the front)
//    that it has.
AnswerScore score_answer(const RecallQuestion& question, std::string_view answer, bool ended);

// Whether the text says that something is not to be found.
bool says_absent(std::string_view answer);
// The end of the text is at least three times the same at most 64 bytes.
bool runs_in_circles(std::string_view answer);

std::string_view trimmed_answer(std::string_view text);

}  // namespace octavo
