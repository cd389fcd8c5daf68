// A recall report as text for a person, and as CSV.
//
// Threads: pure functions.
#pragma once

#include <string>

#include "runtime/recall/recall_report.h"

namespace octavo {

// One line when a section is finished: "q4_0, window 128, sinks 64 at 4,096 tokens: 43 of 43 right".
std::string recall_section_line(const RecallSection& section);

// Scores with intervals and differences, families, named needles, depths, controls, fidelity, and what really ran.
std::string recall_table(const RecallReport& report);

// One line an answer.
std::string recall_csv(const RecallReport& report);

}  // namespace octavo
