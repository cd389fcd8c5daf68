#include "runtime/recall/score.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "runtime/recall/facts.h"

namespace octavo {
namespace {

constexpr std::array<std::string_view, 4> kZones = {"bulk", "sink", "window", "mixed"};
constexpr std::array<std::string_view, kRecallOutcomes> kOutcomes = {"correct", "wrong", "empty", "looping", "refused"};
constexpr std::array<std::string_view, 5> kPurposes = {"score", "zone", "masked", "absent", "bare"};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-'; }

// As a whole word: "7" is not in "47".
bool has_word(std::string_view text, std::string_view word) {
    for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
        const size_t end = at + word.size();
        if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]))) return true;
    }
    return false;
}

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
    std::vector<std::string_view> parts;
    size_t begin = 0;
    while (begin < text.size()) {
        const size_t end = std::min(text.find_first_of(separators, begin), text.size());
        if (end > begin) parts.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

bool all_digits(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

double part_found(std::string_view value, std::string_view answer) {
    if (has_word(answer, value)) return 1;
    if (all_digits(value)) {
        const auto same = std::mismatch(value.begin(), value.end(), answer.begin(), answer.end()).first - value.begin();
        return static_cast<double>(same) / static_cast<double>(value.size());
    }
    const std::vector<std::string_view> parts = split(value, "-");
    const std::vector<std::string_view> found = split(answer, "- ,.\n");
    const auto hits = std::count_if(parts.begin(), parts.end(), [&](std::string_view part) {
        return std::find(found.begin(), found.end(), part) != found.end();
    });
    return static_cast<double>(hits) / static_cast<double>(parts.size());
}

std::string lower(std::string_view text) {
    std::string result(text);
    for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return result;
}

}  // namespace

std::string_view recall_zone_name(RecallZone zone) { return kZones[static_cast<size_t>(zone)]; }
std::string_view recall_outcome_name(RecallOutcome outcome) { return kOutcomes[static_cast<size_t>(outcome)]; }
std::string_view recall_purpose_name(RecallPurpose purpose) { return kPurposes[static_cast<size_t>(purpose)]; }

std::string_view trimmed_answer(std::string_view text) {
    constexpr std::string_view space = " \t\r\n";
    const size_t first = text.find_first_not_of(space);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(space) - first + 1);
}

bool says_absent(std::string_view answer) {
    static constexpr std::string_view phrases[] = {
        "could not find", "couldn't find", "cannot find",  "can't find",    "not find",      "not in the text",
        "not mentioned",  "not given",     "not provided", "not specified", "not stated",    "not contain",
        "not appear",     "not include",   "not listed",   "not present",   "not available", "no information",
        "does not say",   "doesn't say",   "no mention",   "not mention",   "not there",     "unknown"};
    const std::string text = lower(answer);
    return std::any_of(std::begin(phrases), std::end(phrases),
                       [&text](std::string_view phrase) { return text.find(phrase) != std::string::npos; });
}

bool runs_in_circles(std::string_view answer) {
    constexpr size_t longest_period = 64;
    constexpr size_t least_bytes = 12;  // "1111111" may be an answer
    for (size_t period = 1; period <= longest_period; ++period) {
        const size_t bytes = std::max(3 * period, least_bytes);
        if (bytes > answer.size()) break;
        const std::string_view end = answer.substr(answer.size() - bytes);
        if (end.substr(period) == end.substr(0, bytes - period)) return true;
    }
    return false;
}

AnswerScore score_answer(const RecallQuestion& question, std::string_view answer, bool ended) {
    const std::string_view text = trimmed_answer(answer);
    if (text.empty()) return {RecallOutcome::empty, 0};
    const bool absent = says_absent(text);
    if (question.expected.empty()) {
        if (absent && !looks_like_a_code(std::string(text))) return {RecallOutcome::correct, 1};
        return {!ended && runs_in_circles(text) ? RecallOutcome::looping : RecallOutcome::wrong, 0};
    }
    double partial = 0;
    bool all = true;
    for (const std::string& value : question.expected) {
        partial += part_found(value, text) / static_cast<double>(question.expected.size());
        all = all && has_word(text, value);
    }
    if (all) return {RecallOutcome::correct, 1};
    if (absent) return {RecallOutcome::refused, partial};
    return {!ended && runs_in_circles(text) ? RecallOutcome::looping : RecallOutcome::wrong, partial};
}

}  // namespace octavo
