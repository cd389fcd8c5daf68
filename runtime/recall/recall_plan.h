// The recall test: facts ("needles") are hidden in a long text, the text is read once under each KV setting, and every
// question is asked from the same checkpoint behind it. This header says what to run; recall_report.h what came out,
// recall_run.h runs it, recall_summary.h turns the answers into scores, intervals and differences.
//
// Threads: values, free for all.
// Source: the design's recall page; task families after RULER (Hsieh et al. 2024).
// Non-goals: reasoning, and judging a format from the answers alone: see `fidelity` for that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/error.h"
#include "runtime/kv/kv_settings.h"

namespace octavo {

enum class RecallFamily : uint8_t {
    word_code,    // "The access code of the lighthouse is QUARTZ-DELTA-8813."
    digits,       // seven digits
    multi_key,    // a word code with two look-alikes: the same key but for one word, another value
    buried,       // a fact with a short answer, in the middle or at the end of the text
    named,        // three fixed needles at 25, 50 and 90%
    multi_value,  // three values of one key, all asked for
    tracking,     // a value that is handed on four times, from variable to variable
};
inline constexpr size_t kRecallFamilies = 7;

struct RecallFamilySpec {
    RecallFamily family;
    std::string_view name;  // "word_code"
    std::string_view text;  // "word codes", for a person
    // One stretch of the text holds the answer. Only these have a depth, are masked, and count in the scores by depth;
    // the others are reported by themselves.
    bool one_place;
};
const RecallFamilySpec& recall_family_spec(RecallFamily family);
Result<RecallFamily> parse_recall_family(std::string_view name);

// What the needles lie in.
enum class RecallHaystack : uint8_t {
    log,    // lines of an operations log, none twice
    prose,  // sentences, none twice
    file,   // a text of the user's
};
std::string_view recall_haystack_name(RecallHaystack haystack);
Result<RecallHaystack> parse_recall_haystack(std::string_view name);

struct RecallPlan {
    std::vector<KvSettings> candidates;
    std::optional<KvSettings> reference;           // absent: bf16, or the largest scheme that fits
    std::vector<int64_t> lengths = {4096, 16384};  // tokens read before the questions, exactly
    std::vector<RecallFamily> families;            // empty: all
    int needles = 40;                              // of one_place families, per document, without the named ones
    int documents = 1;                             // per length
    uint64_t seed = 1;                             // of the first document; the next ones count on
    RecallHaystack haystack = RecallHaystack::log;
    std::string haystack_text;          // RecallHaystack::file
    bool controls = true;               // masked cells, keys never planted, and at the shortest length a text
                                        // without needles
    int64_t fidelity_positions = 4096;  // last ones of the text that are compared with the reference; 0: none
    bool answer_prefix = true;          // the reply is made to begin with "The access code of the mill is"

    bool operator==(const RecallPlan&) const = default;
};

// Every family of the plan, in the order of the enum.
std::vector<RecallFamily> recall_families(const RecallPlan& plan);

}  // namespace octavo
