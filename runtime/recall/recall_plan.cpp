#include "runtime/recall/recall_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace octavo {
namespace {

constexpr RecallFamilySpec kFamilies[kRecallFamilies] = {
    {RecallFamily::word_code, "word_code", "word codes", true},
    {RecallFamily::digits, "digits", "seven digits", true},
    {RecallFamily::multi_key, "multi_key", "codes with look-alikes", true},
    {RecallFamily::buried, "buried", "buried facts, short answers", true},
    {RecallFamily::named, "named", "the three named needles", true},
    {RecallFamily::multi_value, "multi_value", "all three values of a key", false},
    {RecallFamily::tracking, "tracking", "a value handed on four times", false},
};
constexpr std::array<std::string_view, 3> kHaystacks = {"log", "prose", "file"};

}  // namespace

const RecallFamilySpec& recall_family_spec(RecallFamily family) { return kFamilies[static_cast<size_t>(family)]; }

Result<RecallFamily> parse_recall_family(std::string_view name) {
    std::string known;
    for (const RecallFamilySpec& spec : kFamilies) {
        if (spec.name == name) return spec.family;
        known += fmt::format("{}{}", known.empty() ? "" : ", ", spec.name);
    }
    return Error{ErrorKind::usage, fmt::format("There is no task family \"{}\"; there are {}.", name, known)};
}

std::string_view recall_haystack_name(RecallHaystack haystack) { return kHaystacks[static_cast<size_t>(haystack)]; }

Result<RecallHaystack> parse_recall_haystack(std::string_view name) {
    for (size_t i = 0; i < kHaystacks.size(); ++i)
        if (kHaystacks[i] == name) return static_cast<RecallHaystack>(i);
    return Error{ErrorKind::usage, fmt::format("There is no haystack \"{}\"; there are log, prose and file.", name)};
}

std::vector<RecallFamily> recall_families(const RecallPlan& plan) {
    std::vector<RecallFamily> families;
    for (const RecallFamilySpec& spec : kFamilies) {
        const bool wanted = plan.families.empty() ||
                            std::find(plan.families.begin(), plan.families.end(), spec.family) != plan.families.end();
        if (wanted) families.push_back(spec.family);
    }
    return families;
}

}  // namespace octavo
