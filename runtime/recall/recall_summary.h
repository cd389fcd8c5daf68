// Scores, intervals, differences and controls, made from the answers of a report.
//
// Threads: pure functions.
// Sources: Wilson 1927 (interval of a share); Bonett and Price 2012 (interval of a paired difference); McNemar's exact
// test.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "runtime/recall/recall_report.h"

namespace octavo {

struct Interval {
    double low = 0;
    double high = 0;
};

// 95%. n = 0 gives [0, 1].
Interval wilson_interval(int64_t correct, int64_t n);

struct RecallScore {
    int64_t n = 0;
    std::array<int64_t, kRecallOutcomes> outcomes{};  // by RecallOutcome
    double partial = 0;                               // mean
    double mean_log_probability = 0;                  // of the right values, nats per token; mean over the questions
    int64_t best_rank = 0;                            // questions whose right value was the best at every token
    Interval interval;                                // of the share that is correct

    int64_t correct() const { return outcomes[static_cast<size_t>(RecallOutcome::correct)]; }
    double share() const { return n > 0 ? static_cast<double>(correct()) / static_cast<double>(n) : 0; }
};

inline constexpr int kRecallDepths = 5;  // equal parts of the text, by the depth of the value

// The part that a depth of 0 to 1 lies in, as percent of its middle: 10, 30, 50, 70, 90.
int recall_depth_percent(double depth);

// A square of the heat map. All documents of a length together.
struct RecallCell {
    KvSettings kv;
    int64_t length = 0;
    int depth = 0;  // as recall_depth_percent
    RecallZone zone = RecallZone::bulk;
    RecallScore score;
};

// One setting at one length: all scored needles with one place, or those of a family.
struct RecallTotal {
    KvSettings kv;
    bool is_reference = false;
    int64_t length = 0;
    RecallScore score;
};
struct RecallFamilyTotal {
    KvSettings kv;
    RecallFamily family = RecallFamily::word_code;
    int64_t length = 0;
    RecallScore score;
};

// The same questions under a candidate and under the reference.
struct RecallDifference {
    KvSettings kv;
    int64_t length = 0;
    int64_t n = 0;
    int64_t lost = 0;            // right under the reference only
    int64_t gained = 0;          // right under the candidate only
    double difference = 0;       // share under the candidate less share under the reference
    Interval interval;           // of it, 95%
    double p_value = 1;          // that lost and gained are equally likely, two-sided
    double log_probability = 0;  // mean difference of the right values' log-probability, nats per token
    Interval log_probability_interval;
};

struct RecallControls {
    KvSettings kv;
    int64_t length = 0;
    int64_t masked_n = 0;
    int64_t masked_right = 0;  // more than 1 in 40: not read from these cells
    int64_t absent_n = 0;
    int64_t absent_refused = 0;
    int64_t absent_codes = 0;  // answered with a code all the same
    int64_t bare_n = 0;        // 0: not run at this length
    int64_t bare_codes = 0;
    bool masked_holds() const { return masked_right * 40 <= masked_n; }
};

// Cells, totals and differences come in the order in which their settings and lengths were run; what has no answers is
// left out.
std::vector<RecallCell> recall_cells(const RecallReport& report);
std::vector<RecallTotal> recall_totals(const RecallReport& report);
std::vector<RecallFamilyTotal> recall_family_totals(const RecallReport& report);
std::vector<RecallDifference> recall_differences(const RecallReport& report);
std::vector<RecallControls> recall_controls(const RecallReport& report);

}  // namespace octavo
