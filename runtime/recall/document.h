// One document of a recall run as tokens: header of the chat, haystack, needles at exact cells, and the questions, with
// the cells of each needle. It has exactly as many tokens as asked for.
//
// Lines are turned into tokens one by one and put together; where a length or a cell has to be met exactly, a line of
// the haystack is cut short between two tokens.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/model.h"
#include "runtime/recall/recall_report.h"

namespace octavo {

struct RecallDocument {
    std::vector<int32_t> ids;
    uint64_t hash = 0;                      // of ids
    std::vector<RecallQuestion> questions;  // with cells
};

// Cells that every setting reads from the bulk when a question begins at token `length`.
CellRange bulk_cells(std::span<const KvSettings> settings, int64_t length);
// Where `cells` are read from then under one setting.
RecallZone recall_zone(const KvSettings& kv, CellRange cells, int64_t length);

// `bulk`: where needles to be scored may lie. ErrorKind::usage where the needles do not fit or a person's text is too
// short, with the numbers.
Result<RecallDocument> make_document(const Model& model, const RecallPlan& plan, int64_t length, uint64_t seed,
                                     CellRange bulk);
// The same length of haystack with nothing planted.
Result<RecallDocument> make_bare_document(const Model& model, const RecallPlan& plan, int64_t length, uint64_t seed);

// What is appended to the document to ask: the question, the opening of the reply and its prefix.
Result<std::vector<int32_t>> question_ids(const Model& model, const RecallQuestion& question);
// The expected answer, as it would follow; several values with commas between them.
Result<std::vector<int32_t>> expected_ids(const Model& model, const RecallQuestion& question);

}  // namespace octavo
