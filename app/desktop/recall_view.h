// A recall report as the panel shows it.
//
// Threads: pure functions.
#pragma once

#include "runtime/recall/recall_report.h"
#include "ui/state/recall_state.h"

namespace octavo {

// `complete`: nothing is running any more, and nothing was left out.
RecallRunView recall_view(const RecallReport& report, bool complete);

}  // namespace octavo
