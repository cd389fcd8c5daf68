#include "runtime/recall/recall_summary.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "runtime/recall/facts.h"

namespace octavo {
namespace {

constexpr double kZ95 = 1.959964;

// What is counted together.
struct Group {
    KvSettings kv;
    int64_t length = 0;
    bool operator==(const Group&) const = default;
};

std::vector<Group> groups_of(const RecallReport& report) {
    std::vector<Group> groups;
    for (const RecallSection& section : report.sections) {
        const Group group{section.kv, section.length};
        if (std::find(groups.begin(), groups.end(), group) == groups.end()) groups.push_back(group);
    }
    return groups;
}

using Wanted = std::function<bool(const RecallAnswer&)>;

std::vector<const RecallAnswer*> answers_of(const RecallReport& report, const Group& group, const Wanted& wanted) {
    std::vector<const RecallAnswer*> answers;
    for (const RecallSection& section : report.sections) {
        if (!(Group{section.kv, section.length} == group)) continue;
        for (const RecallAnswer& answer : section.answers)
            if (wanted(answer)) answers.push_back(&answer);
    }
    return answers;
}

RecallScore score_of(const std::vector<const RecallAnswer*>& answers) {
    RecallScore score;
    score.n = std::ssize(answers);
    if (score.n == 0) return score;
    int64_t rated = 0;
    for (const RecallAnswer* answer : answers) {
        ++score.outcomes[static_cast<size_t>(answer->outcome)];
        score.partial += answer->partial / static_cast<double>(score.n);
        if (!answer->likelihood) continue;
        ++rated;
        score.mean_log_probability += answer->likelihood->mean_log_probability;
        score.best_rank += answer->likelihood->worst_rank == 1 ? 1 : 0;
    }
    if (rated > 0) score.mean_log_probability /= static_cast<double>(rated);
    score.interval = wilson_interval(score.correct(), score.n);
    return score;
}

int percent_of_part(int part) { return (2 * part + 1) * 100 / (2 * kRecallDepths); }

bool has_one_place(const RecallAnswer& answer) { return recall_family_spec(answer.question.family).one_place; }

// Two-sided exact test that `lost` of lost + gained is a fair coin's.
double mcnemar_p(int64_t lost, int64_t gained) {
    const int64_t n = lost + gained;
    if (n == 0) return 1;
    double tail = 0;
    for (int64_t k = 0; k <= std::min(lost, gained); ++k) {
        const double choose = std::lgamma(static_cast<double>(n) + 1) - std::lgamma(static_cast<double>(k) + 1) -
                              std::lgamma(static_cast<double>(n - k) + 1);
        tail += std::exp(choose - static_cast<double>(n) * std::log(2.0));
    }
    return std::min(1.0, 2 * tail);
}

// Of the mean, by the normal approximation.
Interval mean_interval(const std::vector<double>& values, double mean) {
    if (values.size() < 2) return {mean, mean};
    double squares = 0;
    for (const double value : values) squares += (value - mean) * (value - mean);
    const auto n = static_cast<double>(values.size());
    const double half = kZ95 * std::sqrt(squares / (n - 1) / n);
    return {mean - half, mean + half};
}

// Bonett and Price: one observation is added to each discordant count.
Interval paired_interval(int64_t lost, int64_t gained, int64_t n) {
    const double total = static_cast<double>(n) + 2;
    const double up = (static_cast<double>(gained) + 1) / total;
    const double down = (static_cast<double>(lost) + 1) / total;
    const double half = kZ95 * std::sqrt((up + down - (up - down) * (up - down)) / total);
    return {std::max(-1.0, up - down - half), std::min(1.0, up - down + half)};
}

const RecallSection* reference_section(const RecallReport& report, const RecallSection& of) {
    for (const RecallSection& section : report.sections)
        if (section.is_reference && section.length == of.length && section.seed == of.seed && section.bare == of.bare)
            return &section;
    return nullptr;
}

// Pairs of answers to the same question: the reference's and the candidate's.
using Pairs = std::vector<std::pair<const RecallAnswer*, const RecallAnswer*>>;

Pairs pairs_of(const RecallReport& report, const Group& group) {
    Pairs pairs;
    for (const RecallSection& section : report.sections) {
        if (section.bare || section.is_reference || !(Group{section.kv, section.length} == group)) continue;
        const RecallSection* reference = reference_section(report, section);
        if (reference == nullptr || reference->answers.size() != section.answers.size()) continue;
        for (size_t i = 0; i < section.answers.size(); ++i)
            if (section.answers[i].scored && has_one_place(section.answers[i]))
                pairs.push_back({&reference->answers[i], &section.answers[i]});
    }
    return pairs;
}

RecallDifference difference_of(const Group& group, const Pairs& pairs) {
    RecallDifference result;
    result.kv = group.kv;
    result.length = group.length;
    result.n = std::ssize(pairs);
    std::vector<double> changes;
    for (const auto& [reference, candidate] : pairs) {
        const bool before = reference->outcome == RecallOutcome::correct;
        const bool after = candidate->outcome == RecallOutcome::correct;
        result.lost += before && !after ? 1 : 0;
        result.gained += after && !before ? 1 : 0;
        if (reference->likelihood && candidate->likelihood)
            changes.push_back(candidate->likelihood->mean_log_probability -
                              reference->likelihood->mean_log_probability);
    }
    result.difference = static_cast<double>(result.gained - result.lost) / static_cast<double>(result.n);
    result.interval = paired_interval(result.lost, result.gained, result.n);
    result.p_value = mcnemar_p(result.lost, result.gained);
    for (const double change : changes) result.log_probability += change / static_cast<double>(changes.size());
    result.log_probability_interval = mean_interval(changes, result.log_probability);
    return result;
}

}  // namespace

Interval wilson_interval(int64_t correct, int64_t n) {
    if (n <= 0) return {0, 1};
    const auto total = static_cast<double>(n);
    const double share = static_cast<double>(correct) / total;
    const double z2 = kZ95 * kZ95;
    const double centre = (share + z2 / (2 * total)) / (1 + z2 / total);
    const double half = kZ95 / (1 + z2 / total) * std::sqrt(share * (1 - share) / total + z2 / (4 * total * total));
    return {std::max(0.0, centre - half), std::min(1.0, centre + half)};
}

int recall_depth_percent(double depth) {
    return percent_of_part(std::clamp(static_cast<int>(depth * kRecallDepths), 0, kRecallDepths - 1));
}

std::vector<RecallCell> recall_cells(const RecallReport& report) {
    std::vector<RecallCell> cells;
    for (const Group& group : groups_of(report)) {
        for (int part = 0; part < kRecallDepths; ++part) {
            const int depth = percent_of_part(part);
            for (const RecallZone zone : {RecallZone::sink, RecallZone::bulk, RecallZone::window, RecallZone::mixed}) {
                const RecallScore score = score_of(answers_of(report, group, [&](const RecallAnswer& answer) {
                    const bool asked = answer.question.purpose == RecallPurpose::score ||
                                       answer.question.purpose == RecallPurpose::zone;
                    // Bulk rows are what is scored; a probe that lies in the bulk of this setting is shown nowhere.
                    return asked && has_one_place(answer) && answer.zone == zone &&
                           recall_depth_percent(answer.question.depth) == depth &&
                           (zone != RecallZone::bulk || answer.scored);
                }));
                if (score.n == 0) continue;
                cells.push_back({group.kv, group.length, depth, zone, score});
            }
        }
    }
    return cells;
}

std::vector<RecallTotal> recall_totals(const RecallReport& report) {
    std::vector<RecallTotal> totals;
    for (const Group& group : groups_of(report)) {
        const RecallScore score = score_of(answers_of(
            report, group, [](const RecallAnswer& answer) { return answer.scored && has_one_place(answer); }));
        const bool is_reference = std::any_of(
            report.sections.begin(), report.sections.end(),
            [&group](const RecallSection& section) { return section.is_reference && section.kv == group.kv; });
        if (score.n > 0) totals.push_back({group.kv, is_reference, group.length, score});
    }
    return totals;
}

std::vector<RecallFamilyTotal> recall_family_totals(const RecallReport& report) {
    std::vector<RecallFamilyTotal> totals;
    for (const Group& group : groups_of(report)) {
        for (const RecallFamily family : recall_families(report.plan)) {
            const RecallScore score = score_of(answers_of(report, group, [family](const RecallAnswer& answer) {
                return answer.scored && answer.question.family == family;
            }));
            if (score.n > 0) totals.push_back({group.kv, family, group.length, score});
        }
    }
    return totals;
}

std::vector<RecallDifference> recall_differences(const RecallReport& report) {
    std::vector<RecallDifference> differences;
    for (const Group& group : groups_of(report)) {
        const Pairs pairs = pairs_of(report, group);
        if (!pairs.empty()) differences.push_back(difference_of(group, pairs));
    }
    return differences;
}

std::vector<RecallControls> recall_controls(const RecallReport& report) {
    std::vector<RecallControls> all;
    for (const Group& group : groups_of(report)) {
        RecallControls controls{.kv = group.kv, .length = group.length};
        for (const RecallAnswer* answer : answers_of(report, group, [](const RecallAnswer&) { return true; })) {
            const bool correct = answer->outcome == RecallOutcome::correct;
            const bool code = looks_like_a_code(answer->text);
            switch (answer->question.purpose) {
                case RecallPurpose::score:
                case RecallPurpose::zone: break;
                case RecallPurpose::masked: ++controls.masked_n, controls.masked_right += correct; break;
                case RecallPurpose::absent:
                    ++controls.absent_n, controls.absent_refused += correct, controls.absent_codes += code;
                    break;
                case RecallPurpose::bare: ++controls.bare_n, controls.bare_codes += code; break;
            }
        }
        if (controls.masked_n + controls.absent_n + controls.bare_n > 0) all.push_back(controls);
    }
    return all;
}

}  // namespace octavo
