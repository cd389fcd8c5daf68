// What a recall run found: every answer, document by document and setting by setting, as values. Summaries are made
// from these (recall_summary.h), so that a run that was stopped, resumed or stored can be shown the same way.
//
// Threads: values, free for all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/measure/fidelity.h"
#include "runtime/recall/recall_plan.h"

namespace octavo {

// Where a needle's cells are read from when the first token of its question looks at them.
enum class RecallZone : uint8_t {
    bulk,    // as the scheme stores them: the only ones that are scored
    sink,    // FP16, the first cells
    window,  // FP16, the newest cells or an open group
    mixed,   // some here, some there
};
std::string_view recall_zone_name(RecallZone zone);

enum class RecallOutcome : uint8_t {
    correct,
    wrong,    // another text
    empty,    // nothing but white space
    looping,  // ran in circles until its token budget was gone
    refused,  // said that it is not in the text
};
inline constexpr size_t kRecallOutcomes = 5;
std::string_view recall_outcome_name(RecallOutcome outcome);

// What a question is asked for.
enum class RecallPurpose : uint8_t {
    score,   // a needle in the bulk
    zone,    // a needle put into a sink or into the window on purpose: shown, never scored
    masked,  // control: a scored needle again, with its cells out of sight
    absent,  // control: a key that is not in the text
    bare,    // control: a text without needles
};
std::string_view recall_purpose_name(RecallPurpose purpose);

// Cells [first, end); a cell is a token's position.
struct CellRange {
    int64_t first = 0;
    int64_t end = 0;

    int64_t size() const { return end - first; }
    bool operator==(const CellRange&) const = default;
};

// Teacher-forced: how the model, shown the right answer token by token, rates each of its tokens. No sampling noise.
struct ValueLikelihood {
    double mean_log_probability = 0;  // nats per token
    int64_t worst_rank = 0;           // 1: every token was the best one
    double least_margin = 0;          // smallest logit distance to the best other token; negative where it lost
};

struct RecallQuestion {
    RecallPurpose purpose = RecallPurpose::score;
    RecallFamily family = RecallFamily::word_code;
    std::string text;                   // the question
    std::vector<std::string> expected;  // one value, or all of multi_value; none for `absent` and `bare`
    std::string answer_prefix;          // what the reply is made to begin with
    CellRange cells;                    // the planted sentence; empty where there is none or there are several
    CellRange value_cells;              // the value in it
    double depth = 0;                   // of value_cells in the text, 0 to 1
    bool straddles_group = false;       // value_cells cross a border of 32 cells,
    bool straddles_chunk = false;       // of a prefill pass (512),
    bool straddles_page = false;        // of a step in which the cache grows (1,024)
};

struct RecallAnswer {
    RecallQuestion question;
    RecallZone zone = RecallZone::bulk;
    bool scored = false;  // purpose `score`, in the bulk under every setting of the plan
    std::string text;     // without white space around it
    RecallOutcome outcome = RecallOutcome::empty;
    double partial = 0;                         // share of the expected parts that are there, 0 to 1
    std::optional<ValueLikelihood> likelihood;  // where something is expected
};

// One document read under one setting.
struct RecallSection {
    KvSettings kv;
    bool is_reference = false;
    bool bare = false;   // the text without needles
    int64_t length = 0;  // tokens before the questions
    uint64_t seed = 0;
    uint64_t prompt_hash = 0;  // of the document's tokens: equal on every machine for equal seed and tokenizer
    std::vector<RecallAnswer> answers;
    std::optional<FidelityScores> fidelity;  // against the reference, over the last positions of the document
    std::optional<bool> repeat_identical;    // whether asking the first question twice gave the same bits

    // What it took.
    struct Cost {
        int64_t tokens = 0;         // read
        int64_t answer_tokens = 0;  // given to be rated, or generated
        double seconds = 0;
    };
    Cost document;   // the one reading of the text
    Cost questions;  // all but controls
    Cost controls;
    Cost decoding;  // the part of both that was generated token by token
    int64_t bytes_per_token = 0;
    int64_t cache_bytes = 0;  // committed, with the FP16 copies
};

struct RecallReport {
    RecallPlan plan;  // lengths as they were run, and the reference that was taken
    std::string model;
    uint64_t model_hash = 0;
    std::string backend;  // "cpu, avx512, 2 threads"
    KvEqualise equalise = KvEqualise::off;
    std::vector<RecallSection> sections;  // in the order in which they were run
    std::vector<std::string> notes;       // what was changed or left out, in sentences
    bool cancelled = false;
};

}  // namespace octavo
