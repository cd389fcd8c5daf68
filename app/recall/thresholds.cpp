#include "app/recall/thresholds.h"

#include <fmt/format.h>

#include "app/size_text.h"
#include "runtime/recall/recall_summary.h"

namespace octavo {
namespace {

std::string where(const KvSettings& kv, int64_t length) {
    return fmt::format("{} at {} tokens", describe_kv_settings(kv), group_digits(length));
}

void check_controls(const RecallControls& controls, std::vector<std::string>& failures) {
    const std::string place = where(controls.kv, controls.length);
    if (!controls.masked_holds())
        failures.push_back(
            fmt::format("{}: {} of {} answers stay right although their cells are out of sight: they "
                        "are not read from these cells",
                        place, controls.masked_right, controls.masked_n));
    if (controls.bare_codes > 0)
        failures.push_back(fmt::format("{}: {} of {} questions to a text without needles are answered with a code",
                                       place, controls.bare_codes, controls.bare_n));
}

}  // namespace

std::vector<std::string> recall_failures(const RecallReport& report, const RecallThresholds& thresholds) {
    std::vector<std::string> failures;
    for (const RecallTotal& total : recall_totals(report)) {
        if (total.is_reference || total.score.share() >= thresholds.least_correct) continue;
        failures.push_back(fmt::format("{}: {} of {} needles are found, {:.1f}% are wanted",
                                       where(total.kv, total.length), total.score.correct(), total.score.n,
                                       100 * thresholds.least_correct));
    }
    for (const RecallDifference& difference : recall_differences(report)) {
        if (-difference.difference <= thresholds.most_drop) continue;
        failures.push_back(fmt::format(
            "{}: {:.1f} points fewer needles are found than under the reference, {:.1f} are "
            "allowed",
            where(difference.kv, difference.length), -100 * difference.difference, 100 * thresholds.most_drop));
    }
    for (const RecallSection& section : report.sections) {
        if (!section.fidelity || thresholds.most_kl == 0 || section.fidelity->mean_kl <= thresholds.most_kl) continue;
        failures.push_back(fmt::format("{}: mean KL {:.2e} to the reference, {:.2e} is allowed",
                                       where(section.kv, section.length), section.fidelity->mean_kl,
                                       thresholds.most_kl));
    }
    for (const RecallControls& controls : recall_controls(report)) check_controls(controls, failures);
    return failures;
}

}  // namespace octavo
