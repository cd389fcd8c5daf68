// What a recall run must reach so that `octavo recall` ends with success.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <vector>

#include "runtime/recall/recall_report.h"

namespace octavo {

struct RecallThresholds {
    double least_correct = 0;  // share of the scored needles, for every candidate and length
    double most_drop = 0.10;   // of that share, below the reference's
    double most_kl = 0;        // mean, against the reference; 0: not looked at
};

// A sentence for each threshold that a setting fails, and for each control; empty: all hold.
std::vector<std::string> recall_failures(const RecallReport& report, const RecallThresholds& thresholds);

}  // namespace octavo
