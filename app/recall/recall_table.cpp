#include "app/recall/recall_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/size_text.h"
#include "runtime/recall/recall_summary.h"

namespace octavo {
namespace {

std::string percent(double share) { return fmt::format("{:.0f}%", 100 * share); }

// "q4_0 w128 s64": short enough for a column.
std::string short_name(const KvSettings& kv) {
    std::string name = kv_scheme_name(kv.scheme);
    if (kv.window > 0) name += fmt::format(" w{}", kv.window);
    if (kv.sinks > 0) name += fmt::format(" s{}", kv.sinks);
    if (kv.rotation != KvRotation::automatic) name += fmt::format(" rotate {}", kv_rotation_name(kv.rotation));
    if (kv.encoder != KvEncoder::refined) name += fmt::format(" {}", kv_encoder_name(kv.encoder));
    return name;
}

const RecallDifference* find_difference(const std::vector<RecallDifference>& all, const RecallTotal& total) {
    for (const RecallDifference& difference : all)
        if (difference.kv == total.kv && difference.length == total.length) return &difference;
    return nullptr;
}

// Over all documents of a length.
FidelityScores mean_fidelity(const RecallReport& report, const KvSettings& kv, int64_t length) {
    FidelityScores mean;
    double n = 0;
    for (const RecallSection& section : report.sections) {
        if (!(section.kv == kv) || section.length != length || !section.fidelity) continue;
        ++n;
        mean.positions += section.fidelity->positions;
        mean.mean_kl += section.fidelity->mean_kl;
        mean.median_kl += section.fidelity->median_kl;
        mean.kl_999 += section.fidelity->kl_999;
        mean.top1 += section.fidelity->top1;
    }
    if (n == 0) return mean;
    for (double* value : {&mean.mean_kl, &mean.median_kl, &mean.kl_999, &mean.top1}) *value /= n;
    return mean;
}

std::string score_lines(const RecallReport& report, int64_t length) {
    std::string text = fmt::format(
        "{:<24} {:>9} {:>10} {:>24} {:>8} {:>5} {:>5} {:>4} {:>7} | {:>9} {:>8} {:>8} {:>7}\n", "KV", "right", "95%",
        "change [95%], points", "log p", "wrong", "empty", "loop", "refused", "mean KL", "median", "99.9%", "top-1");
    const std::vector<RecallDifference> differences = recall_differences(report);
    for (const RecallTotal& total : recall_totals(report)) {
        if (total.length != length) continue;
        const RecallScore& score = total.score;
        const RecallDifference* difference = find_difference(differences, total);
        const std::string change = difference == nullptr
                                       ? "reference"
                                       : fmt::format("{:+.1f} [{:+.1f}, {:+.1f}]", 100 * difference->difference,
                                                     100 * difference->interval.low, 100 * difference->interval.high);
        const auto count = [&score](RecallOutcome outcome) { return score.outcomes[static_cast<size_t>(outcome)]; };
        text += fmt::format("{:<24} {:>9} {:>10} {:>24} {:>8.3f} {:>5} {:>5} {:>4} {:>7}", short_name(total.kv),
                            fmt::format("{}/{}", score.correct(), score.n),
                            fmt::format("{}-{}", percent(score.interval.low), percent(score.interval.high)), change,
                            score.mean_log_probability, count(RecallOutcome::wrong), count(RecallOutcome::empty),
                            count(RecallOutcome::looping), count(RecallOutcome::refused));
        const FidelityScores fidelity = mean_fidelity(report, total.kv, length);
        if (fidelity.positions > 0)
            text += fmt::format(" | {:>9.2e} {:>8.1e} {:>8.1e} {:>6.2f}%", fidelity.mean_kl, fidelity.median_kl,
                                fidelity.kl_999, 100 * fidelity.top1);
        text += "\n";
    }
    return text;
}

std::string family_lines(const RecallReport& report, int64_t length) {
    std::string text = fmt::format("{:<24}", "by task");
    const std::vector<RecallFamily> families = recall_families(report.plan);
    for (const RecallFamily family : families) text += fmt::format(" {:>13}", recall_family_spec(family).name);
    text += "\n";
    const std::vector<RecallFamilyTotal> totals = recall_family_totals(report);
    for (const RecallTotal& row : recall_totals(report)) {
        if (row.length != length) continue;
        text += fmt::format("{:<24}", short_name(row.kv));
        for (const RecallFamily family : families) {
            const auto found = std::find_if(totals.begin(), totals.end(), [&](const RecallFamilyTotal& total) {
                return total.kv == row.kv && total.length == length && total.family == family;
            });
            text += found == totals.end()
                        ? fmt::format(" {:>13}", "-")
                        : fmt::format(" {:>13}", fmt::format("{}/{}", found->score.correct(), found->score.n));
        }
        text += "\n";
    }
    return text;
}

int depth_of(int part) { return recall_depth_percent((part + 0.5) / kRecallDepths); }

std::string depth_lines(const RecallReport& report, int64_t length) {
    std::string text = fmt::format("{:<24}", "by depth");
    for (int part = 0; part < kRecallDepths; ++part) text += fmt::format(" {:>13}", fmt::format("{}%", depth_of(part)));
    text += "\n";
    const std::vector<RecallCell> cells = recall_cells(report);
    for (const RecallTotal& row : recall_totals(report)) {
        if (row.length != length) continue;
        text += fmt::format("{:<24}", short_name(row.kv));
        for (int part = 0; part < kRecallDepths; ++part) {
            std::string entry = "-";
            for (const RecallCell& cell : cells)
                if (cell.kv == row.kv && cell.length == length && cell.zone == RecallZone::bulk &&
                    cell.depth == depth_of(part))
                    entry = fmt::format("{}/{}", cell.score.correct(), cell.score.n);
            text += fmt::format(" {:>13}", entry);
        }
        text += "\n";
    }
    return text;
}

// The named needles, and the probes that are not scored.
std::string single_lines(const RecallReport& report, int64_t length) {
    std::string text;
    for (const RecallSection& section : report.sections) {
        if (section.length != length || section.bare) continue;
        for (const RecallAnswer& answer : section.answers) {
            const bool named =
                answer.question.family == RecallFamily::named && answer.question.purpose == RecallPurpose::score;
            if (!named && answer.question.purpose != RecallPurpose::zone) continue;
            text += fmt::format("{:<24} {:>5.1f}% cells {:>6}-{:<6} {:<6} {:<8} '{}'{}\n", short_name(section.kv),
                                100 * answer.question.depth, answer.question.cells.first, answer.question.cells.end - 1,
                                recall_zone_name(answer.zone), recall_outcome_name(answer.outcome), answer.text,
                                answer.scored ? "" : "  not scored");
        }
    }
    return text.empty() ? text : "named needles, and needles put into the sinks and the window\n" + text;
}

std::string control_lines(const RecallReport& report, int64_t length) {
    std::string text;
    for (const RecallControls& controls : recall_controls(report)) {
        if (controls.length != length) continue;
        text += fmt::format("{:<24} cells masked: {} of {} still right ({}); key not there: {} of {} said so",
                            short_name(controls.kv), controls.masked_right, controls.masked_n,
                            controls.masked_holds() ? "read from these cells" : "not read from these cells",
                            controls.absent_refused, controls.absent_n);
        if (controls.absent_codes > 0) text += fmt::format(", {} gave a code", controls.absent_codes);
        if (controls.bare_n > 0)
            text += fmt::format("; no needles: {} of {} gave a code", controls.bare_codes, controls.bare_n);
        text += "\n";
    }
    return text.empty() ? text : "controls\n" + text;
}

double per_second(int64_t tokens, double seconds) { return static_cast<double>(tokens) / std::max(seconds, 1e-9); }

std::string run_lines(const RecallReport& report, int64_t length) {
    std::string text = "what ran\n";
    for (const RecallSection& section : report.sections) {
        if (section.length != length || section.bare) continue;
        const auto more = [&section](const RecallSection::Cost& cost) {
            return 100 * static_cast<double>(cost.tokens) / static_cast<double>(section.length);
        };
        text += fmt::format("{:<24} seed {}, prompt {:016x}; {} B a token, {} in all; asked again: {}\n",
                            short_name(section.kv), section.seed, section.prompt_hash,
                            group_digits(section.bytes_per_token), bytes_text(section.cache_bytes),
                            section.repeat_identical.value_or(false) ? "bit-identical" : "differs");
        text += fmt::format(
            "{:<24} read once in {:.1f} s ({:.0f} tok/s); questions: {:.1f}% more tokens, {:.1f} s; "
            "controls: {:.1f}%, {:.1f} s; decoded at {:.0f} tok/s\n",
            "", section.document.seconds, per_second(section.document.tokens, section.document.seconds),
            more(section.questions), section.questions.seconds, more(section.controls), section.controls.seconds,
            per_second(section.decoding.answer_tokens, section.decoding.seconds));
    }
    return text;
}

// In double quotes, doubled inside.
std::string in_quotes(const std::string& text) {
    std::string result = "\"";
    for (const char c : text) result += c == '"' ? "\"\"" : std::string(1, c);
    return result + "\"";
}

}  // namespace

std::string recall_section_line(const RecallSection& section) {
    int64_t n = 0;
    int64_t correct = 0;
    for (const RecallAnswer& answer : section.answers) {
        if (!answer.scored || !recall_family_spec(answer.question.family).one_place) continue;
        ++n;
        correct += answer.outcome == RecallOutcome::correct ? 1 : 0;
    }
    const std::string what = section.bare ? "text without needles asked" : fmt::format("{} of {} right", correct, n);
    return fmt::format("{} at {} tokens, seed {}: {}", describe_kv_settings(section.kv), group_digits(section.length),
                       section.seed, what);
}

std::string recall_table(const RecallReport& report) {
    std::string text;
    for (const int64_t length : report.plan.lengths) {
        const bool any = std::any_of(report.sections.begin(), report.sections.end(),
                                     [length](const RecallSection& section) { return section.length == length; });
        if (!any) continue;
        text += fmt::format("\n{} tokens\n", group_digits(length));
        for (const auto& part :
             {score_lines(report, length), family_lines(report, length), depth_lines(report, length),
              single_lines(report, length), control_lines(report, length), run_lines(report, length)})
            text += part + "\n";
    }
    for (const std::string& note : report.notes) text += note + "\n";
    return text;
}

std::string recall_csv(const RecallReport& report) {
    std::string text =
        "scheme,window,sinks,length,seed,purpose,family,depth,first_cell,end_cell,zone,scored,outcome,partial,"
        "mean_logprob,worst_rank,least_margin,question,expected,answer\n";
    for (const RecallSection& section : report.sections) {
        for (const RecallAnswer& answer : section.answers) {
            const RecallQuestion& question = answer.question;
            std::string expected;
            for (const std::string& value : question.expected) expected += (expected.empty() ? "" : " ") + value;
            const std::string likelihood =
                answer.likelihood ? fmt::format("{},{},{}", answer.likelihood->mean_log_probability,
                                                answer.likelihood->worst_rank, answer.likelihood->least_margin)
                                  : ",,";
            text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{:d},{},{},{},{},{},{}\n",
                                in_quotes(kv_scheme_name(section.kv.scheme)), section.kv.window, section.kv.sinks,
                                section.length, section.seed, recall_purpose_name(question.purpose),
                                recall_family_spec(question.family).name, question.depth, question.cells.first,
                                question.cells.end, recall_zone_name(answer.zone), answer.scored,
                                recall_outcome_name(answer.outcome), answer.partial, likelihood,
                                in_quotes(question.text), in_quotes(expected), in_quotes(answer.text));
        }
    }
    return text;
}

}  // namespace octavo
