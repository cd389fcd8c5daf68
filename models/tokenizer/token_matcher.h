// Finds special tokens in text, and cuts a prompt into stretches of plain text and stretches of ids. Both tokenizer
// families use it.
//
// Threads: const methods may be called from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "models/tokenizer/tokenizer.h"

namespace octavo {

class TokenMatcher {
  public:
    struct Match {
        int32_t id = -1;  // -1: no token starts here
        std::size_t bytes = 0;
    };

    // `name` must not be empty; a name added twice keeps its first id.
    void add(std::string_view name, int32_t id);
    // The longest token that `text` starts with.
    Match match(std::string_view text) const;
    int32_t find(std::string_view name) const;  // -1: unknown

  private:
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
    };
    std::unordered_map<std::string, int32_t, Hash, std::equal_to<>> ids_;
    std::array<std::vector<std::size_t>, 256> lengths_;  // of the names that start with a byte, longest first
};

// One of the two is empty. `text` is joined over the borders of parts and has no special tokens to look for.
struct PromptStretch {
    std::string text;
    std::vector<int32_t> ids;
};

// Special tokens of `specials` are cut out of markup only. The error names an id outside the vocabulary.
Result<std::vector<PromptStretch>> cut_prompt(const std::vector<PromptPart>& parts, const TokenMatcher& specials,
                                              int vocab_size);

}  // namespace octavo
