// A recall report as JSON, and back: the file is also what a stopped run goes on from.
//
// Everything but "timing" and "cancelled" depends only on plan, model and back end.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <vector>

#include "runtime/recall/recall_report.h"

namespace octavo {

struct RecallThresholds;

// The report with its summaries, as one JSON text.
std::string recall_json_text(const RecallReport& report, const RecallThresholds& thresholds);

// The report back, for showing and for other formats: the plan has its settings, lengths and reference only.
// ErrorKind::input where the text is none.
Result<RecallReport> recall_report_of(const std::string& json_text);

// The finished sections of such a text. ErrorKind::input where it is none; ErrorKind::usage where it was made by
// another plan or model than `expected` has.
Result<std::vector<RecallSection>> finished_sections(const std::string& json_text, const RecallReport& expected);

}  // namespace octavo
