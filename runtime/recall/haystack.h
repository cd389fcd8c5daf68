// The text around the needles, line by line: made from a seed, or a person's own. No line comes twice.
//
// Integer arithmetic only, so the same seed gives the same bytes on every machine.
//
// Threads: one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "runtime/recall/recall_plan.h"

namespace octavo {

class Haystack {
  public:
    virtual ~Haystack() = default;
    // The next line with its newline; nothing where a person's text is at its end.
    virtual std::optional<std::string> next_line() = 0;
    // How a fact is written among these lines: "NOTE: the access code of the mill is X" in a log.
    virtual std::string fact_line(const std::string& sentence) = 0;
};

// `text`: for RecallHaystack::file.
std::unique_ptr<Haystack> make_haystack(RecallHaystack kind, uint64_t seed, const std::string& text);

}  // namespace octavo
