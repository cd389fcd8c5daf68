#include "app/desktop/recall_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "app/printable_text.h"
#include "app/size_text.h"
#include "runtime/recall/recall_summary.h"

namespace octavo {
namespace {

RecallAnswerView answer_view(const RecallAnswer& answer) {
    const RecallQuestion& question = answer.question;
    RecallAnswerView view;
    view.first_token = question.cells.first;
    view.end_token = question.cells.end;
    view.task = recall_family_spec(question.family).text;
    view.zone = recall_zone_name(answer.zone);
    view.question = question.text;
    for (const std::string& value : question.expected) view.expected += (view.expected.empty() ? "" : " ") + value;
    view.answer = printable_line(answer.text);
    view.outcome = recall_outcome_name(answer.outcome);
    view.correct = answer.outcome == RecallOutcome::correct;
    return view;
}

// The scored questions behind a square.
std::vector<RecallAnswerView> answers_of(const RecallReport& report, const RecallCell& cell) {
    std::vector<RecallAnswerView> answers;
    const double low = (cell.depth - 50.0 / kRecallDepths) / 100;
    const double high = (cell.depth + 50.0 / kRecallDepths) / 100;
    for (const RecallSection& section : report.sections) {
        if (section.bare || section.length != cell.length || !(section.kv == cell.kv)) continue;
        for (const RecallAnswer& answer : section.answers) {
            const double depth = answer.question.depth;
            const bool here = depth >= low && (depth < high || (high >= 1 && depth <= 1));
            if (answer.scored && recall_family_spec(answer.question.family).one_place && here)
                answers.push_back(answer_view(answer));
        }
    }
    return answers;
}

RecallCellView cell_view(const RecallReport& report, const RecallCell& cell) {
    return {cell.length,
            cell.depth,
            cell.score.n,
            cell.score.correct(),
            cell.score.interval.low,
            cell.score.interval.high,
            answers_of(report, cell)};
}

RecallSchemeView& scheme_of(RecallRunView& view, const KvSettings& kv) {
    const std::string name = describe_kv_settings(kv);
    for (RecallSchemeView& scheme : view.schemes)
        if (scheme.name == name) return scheme;
    view.schemes.emplace_back().name = name;
    return view.schemes.back();
}

// All lengths together; the heat map has them apart.
void add_totals(RecallRunView& view, const RecallReport& report) {
    for (const RecallTotal& total : recall_totals(report)) {
        RecallSchemeView& scheme = scheme_of(view, total.kv);
        scheme.reference = total.is_reference;
        scheme.n += total.score.n;
        scheme.correct += total.score.correct();
        scheme.wrong += total.score.outcomes[static_cast<size_t>(RecallOutcome::wrong)];
        scheme.empty += total.score.outcomes[static_cast<size_t>(RecallOutcome::empty)];
    }
    for (RecallSchemeView& scheme : view.schemes) {
        const Interval interval = wilson_interval(scheme.correct, scheme.n);
        scheme.wilson_low = interval.low;
        scheme.wilson_high = interval.high;
    }
}

double per_second(const RecallSection::Cost& cost) {
    return cost.seconds > 0 ? static_cast<double>(cost.tokens) / cost.seconds : 0;
}

void add_details(RecallRunView& view, const RecallReport& report) {
    for (const RecallSection& section : report.sections) {
        if (section.bare) continue;
        std::string line = fmt::format("{} tokens: {} in the cache, read at {:.0f} tok/s", group_digits(section.length),
                                       bytes_text(section.cache_bytes), per_second(section.document));
        if (section.fidelity && !section.is_reference)
            line += fmt::format("; mean KL {:.2g} and the same best token in {:.1f}% of {} positions",
                                section.fidelity->mean_kl, 100 * section.fidelity->top1,
                                group_digits(section.fidelity->positions));
        if (section.repeat_identical)
            line += *section.repeat_identical ? "; a repeat was bit-identical" : "; A REPEAT WAS DIFFERENT";
        scheme_of(view, section.kv).details.push_back(std::move(line));
    }
    for (const RecallControls& control : recall_controls(report))
        scheme_of(view, control.kv)
            .details.push_back(fmt::format(
                "Controls at {} tokens: {} of {} right with their place hidden{}; {} of {} keys that are not "
                "there were refused.",
                group_digits(control.length), control.masked_right, control.masked_n,
                control.masked_holds() ? "" : " (the answers are not read from there)", control.absent_refused,
                control.absent_n));
}

void add_differences(RecallRunView& view, const RecallReport& report) {
    for (const RecallDifference& difference : recall_differences(report))
        view.differences.push_back(
            fmt::format("{} at {} tokens: {:+.1f} points, 95% interval {:+.1f} to {:+.1f}; {} lost and {} gained of {}",
                        describe_kv_settings(difference.kv), group_digits(difference.length),
                        100 * difference.difference, 100 * difference.interval.low, 100 * difference.interval.high,
                        difference.lost, difference.gained, difference.n));
}

}  // namespace

RecallRunView recall_view(const RecallReport& report, bool complete) {
    RecallRunView view;
    view.model = printable_line(report.model);
    view.complete = complete;
    add_totals(view, report);
    for (const RecallCell& cell : recall_cells(report))
        if (cell.zone == RecallZone::bulk) scheme_of(view, cell.kv).cells.push_back(cell_view(report, cell));
    add_details(view, report);
    add_differences(view, report);
    view.notes = report.notes;
    return view;
}

}  // namespace octavo
