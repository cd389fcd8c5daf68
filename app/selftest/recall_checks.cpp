// A small recall test with the bundled model: facts are found under a 4-bit cache, from the cells that hold them, and
// the cache does to the predictions what that format does and no more.
#include <fmt/format.h>

#include "app/selftest/check.h"
#include "runtime/recall/recall_run.h"
#include "runtime/recall/recall_summary.h"

namespace octavo {
namespace {

// Of q4_0 against bf16 on this text: twice what a sound codec gives. One swapped pair of values in every block of 32
// gives more, while the answers stay right.
constexpr double kMostKl = 3e-3;

RecallPlan small_plan() {
    RecallPlan plan;
    plan.candidates = {default_kv_settings({KvFormat::q4_0, KvFormat::q4_0})};
    plan.candidates[0].window = 128;  // the text is short
    plan.lengths = {1024};
    plan.families = {RecallFamily::word_code, RecallFamily::digits};
    plan.needles = 8;
    plan.fidelity_positions = 512;
    return plan;
}

std::string what_failed(const RecallReport& report) {
    for (const RecallTotal& total : recall_totals(report))
        if (total.score.correct() < total.score.n - 1)
            return fmt::format("{}: {} of {} needles were found", describe_kv_settings(total.kv), total.score.correct(),
                               total.score.n);
    for (const RecallControls& controls : recall_controls(report)) {
        const std::string kv = describe_kv_settings(controls.kv);
        if (!controls.masked_holds())
            return fmt::format("{}: {} of {} answers stay right with their cells out of sight", kv,
                               controls.masked_right, controls.masked_n);
        if (controls.bare_codes > 0)
            return fmt::format("{}: {} of {} questions to a text without needles got a code", kv, controls.bare_codes,
                               controls.bare_n);
    }
    for (const RecallSection& section : report.sections) {
        if (!section.repeat_identical.value_or(true)) return "the same question got other bits when asked again";
        if (section.fidelity && !(section.fidelity->mean_kl <= kMostKl))
            return fmt::format("{}: the mean KL to the reference is {:.1e} (allowed: {:.0e})",
                               describe_kv_settings(section.kv), section.fidelity->mean_kl, kMostKl);
    }
    return {};
}

CheckOutcome small_recall_run(CheckContext& context) {
    const auto engine = context.engine();
    if (!engine) return CheckOutcome::failed(engine.error().message);
    Job job;
    const Result<RecallReport> report = run_recall(**engine, {small_plan(), {}}, job);
    if (!report) return CheckOutcome::failed(report.error().message);
    const std::string failure = what_failed(*report);
    return failure.empty() ? CheckOutcome::passed() : CheckOutcome::failed(failure);
}

constexpr Check kChecks[] = {
    {"hidden facts are recalled under a 4-bit cache, with controls", small_recall_run},
};

}  // namespace

std::span<const Check> recall_checks() { return kChecks; }

}  // namespace octavo
