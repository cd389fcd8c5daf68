#include "app/recall/recall_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "app/recall/thresholds.h"
#include "kernels/base/fnv_hash.h"
#include "runtime/recall/recall_summary.h"

namespace octavo {
namespace {

using nlohmann::json;

// Numbers with 64 bits do not survive every reader of JSON.
std::string hex(uint64_t value) { return fmt::format("{:016x}", value); }

json kv_json(const KvSettings& kv) {
    return {{"scheme", kv_scheme_name(kv.scheme)},     {"window", kv.window},        {"sinks", kv.sinks},
            {"rotate", kv_rotation_name(kv.rotation)}, {"rotate_k", kv.rotates_k()}, {"rotate_v", kv.rotates_v()},
            {"encoder", kv_encoder_name(kv.encoder)}};
}

json score_json(const RecallScore& score) {
    return {{"n", score.n},
            {"correct", score.correct()},
            {"wilson_low", score.interval.low},
            {"wilson_high", score.interval.high},
            {"wrong", score.outcomes[static_cast<size_t>(RecallOutcome::wrong)]},
            {"empty", score.outcomes[static_cast<size_t>(RecallOutcome::empty)]},
            {"looping", score.outcomes[static_cast<size_t>(RecallOutcome::looping)]},
            {"refused", score.outcomes[static_cast<size_t>(RecallOutcome::refused)]},
            {"partial", score.partial},
            {"best_rank", score.best_rank},
            {"mean_logprob", score.mean_log_probability}};
}

json joined(json a, const json& b) {
    a.update(b);
    return a;
}

json interval_json(const Interval& interval) { return json::array({interval.low, interval.high}); }
json range_json(const CellRange& range) { return json::array({range.first, range.end}); }

json fidelity_json(const FidelityScores& scores) {
    return {{"positions", scores.positions}, {"mean_kl", scores.mean_kl}, {"median_kl", scores.median_kl},
            {"kl_999", scores.kl_999},       {"top1", scores.top1},       {"perplexity", scores.perplexity}};
}

json answer_json(const RecallAnswer& answer) {
    const RecallQuestion& question = answer.question;
    json result = {{"purpose", recall_purpose_name(question.purpose)},
                   {"family", recall_family_spec(question.family).name},
                   {"question", question.text},
                   {"answer_prefix", question.answer_prefix},
                   {"expected", question.expected},
                   {"answer", answer.text},
                   {"outcome", recall_outcome_name(answer.outcome)},
                   {"partial", answer.partial},
                   {"zone", recall_zone_name(answer.zone)},
                   {"scored", answer.scored},
                   {"cells", range_json(question.cells)},
                   {"value_cells", range_json(question.value_cells)},
                   {"depth", question.depth},
                   {"straddles_group", question.straddles_group},
                   {"straddles_chunk", question.straddles_chunk},
                   {"straddles_page", question.straddles_page}};
    if (answer.likelihood) {
        result["mean_logprob"] = answer.likelihood->mean_log_probability;
        result["worst_rank"] = answer.likelihood->worst_rank;
        result["least_margin"] = answer.likelihood->least_margin;
    }
    return result;
}

double rate(int64_t tokens, double seconds) { return seconds > 0 ? static_cast<double>(tokens) / seconds : 0; }

json section_json(const RecallSection& section) {
    json result = kv_json(section.kv);
    result.update(json{{"is_reference", section.is_reference},
                       {"bare", section.bare},
                       {"length", section.length},
                       {"seed", section.seed},
                       {"prompt_hash", hex(section.prompt_hash)},
                       {"document_tokens_read", section.document.tokens},
                       {"question_tokens_read", section.questions.tokens},
                       {"question_answer_tokens", section.questions.answer_tokens},
                       {"control_tokens_read", section.controls.tokens},
                       {"control_answer_tokens", section.controls.answer_tokens},
                       {"decoded_tokens", section.decoding.answer_tokens},
                       {"bytes_per_token", section.bytes_per_token},
                       {"cache_bytes", section.cache_bytes},
                       {"timing",
                        {{"document_seconds", section.document.seconds},
                         {"question_seconds", section.questions.seconds},
                         {"control_seconds", section.controls.seconds},
                         {"decode_seconds", section.decoding.seconds},
                         {"prefill_tokens_per_s", rate(section.document.tokens, section.document.seconds)},
                         {"decode_tokens_per_s", rate(section.decoding.answer_tokens, section.decoding.seconds)}}},
                       {"answers", json::array()}});
    for (const RecallAnswer& answer : section.answers) result["answers"].push_back(answer_json(answer));
    if (section.fidelity) result["fidelity"] = fidelity_json(*section.fidelity);
    if (section.repeat_identical) result["repeat_identical"] = *section.repeat_identical;
    return result;
}

// What decides the answers, but for model and settings: a run can go on from a file only where this is the same.
json plan_json(const RecallPlan& plan) {
    json families = json::array();
    for (const RecallFamily family : recall_families(plan)) families.push_back(recall_family_spec(family).name);
    FnvHash text_hash;
    text_hash.bytes(std::as_bytes(std::span(plan.haystack_text)));
    return {{"families", families},
            {"needles", plan.needles},
            {"documents", plan.documents},
            {"seed", plan.seed},
            {"haystack", recall_haystack_name(plan.haystack)},
            {"haystack_hash", hex(text_hash.value())},
            {"controls", plan.controls},
            {"fidelity_positions", plan.fidelity_positions},
            {"answer_prefix", plan.answer_prefix},
            {"lengths", plan.lengths}};
}

json settings_json(const RecallPlan& plan) {
    json settings = json::array();
    for (const KvSettings& kv : plan.candidates) settings.push_back(kv_json(kv));
    return settings;
}

json summaries_json(const RecallReport& report) {
    json result = {{"runs", json::array()},        {"totals", json::array()},   {"families", json::array()},
                   {"differences", json::array()}, {"controls", json::array()}, {"fidelity", json::array()}};
    for (const RecallCell& cell : recall_cells(report)) {
        json row = joined(kv_json(cell.kv), score_json(cell.score));
        row.update(json{{"length", cell.length},
                        {"depth", cell.depth},
                        {"zone", recall_zone_name(cell.zone)},
                        {"scored", cell.zone == RecallZone::bulk}});
        result["runs"].push_back(std::move(row));
    }
    for (const RecallTotal& total : recall_totals(report)) {
        json row = joined(kv_json(total.kv), score_json(total.score));
        row.update(json{{"length", total.length}, {"is_reference", total.is_reference}});
        result["totals"].push_back(std::move(row));
    }
    for (const RecallFamilyTotal& total : recall_family_totals(report)) {
        json row = joined(kv_json(total.kv), score_json(total.score));
        row.update(json{{"length", total.length}, {"family", recall_family_spec(total.family).name}});
        result["families"].push_back(std::move(row));
    }
    for (const RecallDifference& difference : recall_differences(report)) {
        result["differences"].push_back(
            joined(kv_json(difference.kv), {{"length", difference.length},
                                            {"n", difference.n},
                                            {"lost", difference.lost},
                                            {"gained", difference.gained},
                                            {"difference", difference.difference},
                                            {"interval", interval_json(difference.interval)},
                                            {"p_value", difference.p_value},
                                            {"logprob_difference", difference.log_probability},
                                            {"logprob_interval", interval_json(difference.log_probability_interval)}}));
    }
    for (const RecallControls& controls : recall_controls(report)) {
        result["controls"].push_back(joined(kv_json(controls.kv), {{"length", controls.length},
                                                                   {"masked_n", controls.masked_n},
                                                                   {"masked_right", controls.masked_right},
                                                                   {"masked_holds", controls.masked_holds()},
                                                                   {"absent_n", controls.absent_n},
                                                                   {"absent_refused", controls.absent_refused},
                                                                   {"absent_codes", controls.absent_codes},
                                                                   {"bare_n", controls.bare_n},
                                                                   {"bare_codes", controls.bare_codes}}));
    }
    for (const RecallSection& section : report.sections) {
        if (section.fidelity)
            result["fidelity"].push_back(
                joined(joined(kv_json(section.kv), {{"length", section.length}, {"seed", section.seed}}),
                       fidelity_json(*section.fidelity)));
    }
    return result;
}

// Reading. What is missing or of another type throws inside nlohmann::json; `finished_sections` catches it.

template <class Enum, size_t Count>
Enum enum_of(const std::string& name, std::string_view (*name_of)(Enum)) {
    for (size_t i = 0; i < Count; ++i)
        if (name_of(static_cast<Enum>(i)) == name) return static_cast<Enum>(i);
    throw json::other_error::create(501, fmt::format("unknown name '{}'", name), nullptr);
}

template <class Value>
Value must(const Result<Value>& value) {
    if (value) return *value;
    throw json::other_error::create(501, value.error().message, nullptr);
}

KvSettings kv_of(const json& from) {
    KvSettings kv;
    kv.scheme = must(parse_kv_scheme(from.at("scheme").get<std::string>()));
    kv.window = from.at("window");
    kv.sinks = from.at("sinks");
    kv.rotation = must(parse_kv_rotation(from.at("rotate").get<std::string>()));
    kv.encoder = must(parse_kv_encoder(from.at("encoder").get<std::string>()));
    return kv;
}

CellRange range_of(const json& from) { return {from.at(0), from.at(1)}; }

RecallAnswer answer_of(const json& from) {
    RecallAnswer answer;
    RecallQuestion& question = answer.question;
    question.purpose = enum_of<RecallPurpose, 5>(from.at("purpose"), recall_purpose_name);
    question.family = must(parse_recall_family(from.at("family").get<std::string>()));
    question.text = from.at("question");
    question.answer_prefix = from.at("answer_prefix");
    question.expected = from.at("expected").get<std::vector<std::string>>();
    question.cells = range_of(from.at("cells"));
    question.value_cells = range_of(from.at("value_cells"));
    question.depth = from.at("depth");
    question.straddles_group = from.at("straddles_group");
    question.straddles_chunk = from.at("straddles_chunk");
    question.straddles_page = from.at("straddles_page");
    answer.text = from.at("answer");
    answer.outcome = enum_of<RecallOutcome, kRecallOutcomes>(from.at("outcome"), recall_outcome_name);
    answer.partial = from.at("partial");
    answer.zone = enum_of<RecallZone, 4>(from.at("zone"), recall_zone_name);
    answer.scored = from.at("scored");
    if (from.contains("mean_logprob"))
        answer.likelihood = {from.at("mean_logprob"), from.at("worst_rank"), from.at("least_margin")};
    return answer;
}

RecallSection section_of(const json& from) {
    RecallSection section;
    section.kv = kv_of(from);
    section.is_reference = from.at("is_reference");
    section.bare = from.at("bare");
    section.length = from.at("length");
    section.seed = from.at("seed");
    section.prompt_hash = std::stoull(from.at("prompt_hash").get<std::string>(), nullptr, 16);
    for (const json& answer : from.at("answers")) section.answers.push_back(answer_of(answer));
    if (from.contains("fidelity")) {
        const json& scores = from.at("fidelity");
        section.fidelity = {scores.at("positions"), scores.at("mean_kl"), scores.at("median_kl"),
                            scores.at("kl_999"),    scores.at("top1"),    scores.at("perplexity")};
    }
    if (from.contains("repeat_identical")) section.repeat_identical = from.at("repeat_identical").get<bool>();
    const json& timing = from.at("timing");
    section.document = {from.at("document_tokens_read"), 0, timing.at("document_seconds")};
    section.questions = {from.at("question_tokens_read"), from.at("question_answer_tokens"),
                         timing.at("question_seconds")};
    section.controls = {from.at("control_tokens_read"), from.at("control_answer_tokens"), timing.at("control_seconds")};
    section.decoding = {0, from.at("decoded_tokens"), timing.at("decode_seconds")};
    section.bytes_per_token = from.at("bytes_per_token");
    section.cache_bytes = from.at("cache_bytes");
    return section;
}

json identity_json(const RecallReport& report) {
    return {{"plan", plan_json(report.plan)},
            {"settings", settings_json(report.plan)},
            {"model_hash", hex(report.model_hash)},
            {"backend", report.backend},
            {"equalise", kv_equalise_name(report.equalise)},
            {"reference", kv_json(report.plan.reference.value_or(KvSettings{}))}};
}

}  // namespace

std::string recall_json_text(const RecallReport& report, const RecallThresholds& thresholds) {
    json result = joined(identity_json(report), summaries_json(report));
    result["model"] = report.model;
    result["notes"] = report.notes;
    result["cancelled"] = report.cancelled;
    result["failures"] = recall_failures(report, thresholds);
    result["sections"] = json::array();
    for (const RecallSection& section : report.sections) result["sections"].push_back(section_json(section));
    return result.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<RecallReport> recall_report_of(const std::string& json_text) {
    const json file = json::parse(json_text, nullptr, false);
    try {
        RecallReport report;
        report.plan.lengths = file.at("plan").at("lengths").get<std::vector<int64_t>>();
        for (const json& kv : file.at("settings")) report.plan.candidates.push_back(kv_of(kv));
        report.plan.reference = kv_of(file.at("reference"));
        report.model = file.at("model");
        report.model_hash = std::stoull(file.at("model_hash").get<std::string>(), nullptr, 16);
        report.backend = file.at("backend");
        report.equalise = must(parse_kv_equalise(file.at("equalise").get<std::string>()));
        for (const json& section : file.at("sections")) report.sections.push_back(section_of(section));
        report.notes = file.at("notes").get<std::vector<std::string>>();
        report.cancelled = file.at("cancelled");
        return report;
    } catch (const std::exception& error) {
        return Error{ErrorKind::input, fmt::format("The stored recall run cannot be read ({}).", error.what())};
    }
}

Result<std::vector<RecallSection>> finished_sections(const std::string& json_text, const RecallReport& expected) {
    const json file = json::parse(json_text, nullptr, false);
    try {
        const json identity = identity_json(expected);
        for (const auto& [key, value] : identity.items()) {
            if (file.at(key) == value) continue;
            return Error{ErrorKind::usage, fmt::format("it was made with another {}: name another file, or leave out "
                                                       "--resume to start anew.",
                                                       key == "model_hash" ? "model" : key)};
        }
        std::vector<RecallSection> sections;
        for (const json& section : file.at("sections")) sections.push_back(section_of(section));
        return sections;
    } catch (const std::exception& error) {
        return Error{ErrorKind::input, fmt::format("it does not hold a recall run to go on from ({}).", error.what())};
    }
}

}  // namespace octavo
