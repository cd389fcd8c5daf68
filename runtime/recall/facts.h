// What is planted and what is asked: sentences with values, and the questions about them, made from a seed. Keys and
// values are unique in a document, so every question has one answer.
//
// The wordings are plain English that every chat model reads, and those that the bundled model was trained on.
//
// Threads: pure function.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/recall/recall_report.h"

namespace octavo {

// Where a sentence should go.
enum class FactPlace : uint8_t {
    spread,     // at its share of the stretch that every setting reads from the bulk
    of_length,  // at its share of the whole text
    start,      // the very first, among the sinks
    end,        // the very last, in the window
};
enum class Straddle : uint8_t { none, group, chunk, page };

struct PlantedFact {
    std::string sentence;
    std::string value;  // a part of `sentence`
    FactPlace place = FactPlace::spread;
    double share = 0;  // 0 to 1
    Straddle straddle = Straddle::none;
    int question = -1;  // index of the only question about it; -1: a look-alike, or one of several places
};

struct FactSet {
    std::vector<PlantedFact> facts;
    std::vector<RecallQuestion> questions;  // without cells
};

FactSet make_facts(const RecallPlan& plan, uint64_t seed);

// Questions for a text in which nothing was planted.
std::vector<RecallQuestion> make_bare_questions(uint64_t seed);

// Whether an answer gives a code or number of the kind that is planted, whatever its value.
bool looks_like_a_code(const std::string& answer);

}  // namespace octavo
