// The checked vocabulary behind a SentencePiece tokenizer: what each token is, its bytes, and the model for
// libsentencepiece that is made from it.
//
// Threads: build_vocabulary is pure; the result is plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/base/error.h"
#include "models/tokenizer/sentencepiece_tokenizer.h"
#include "models/tokenizer/token_matcher.h"

namespace octavo {

// Pairs of neighbouring characters that occur inside some token, as a hashed set: it may claim a pair too many, never
// one too few. Text may be cut between two characters that are no such pair: no merge can reach across.
class CharacterPairs {
  public:
    CharacterPairs() : bits_(1 << 20) {}
    void add(char32_t left, char32_t right) { bits_[slot(left, right)] = true; }
    bool may_contain(char32_t left, char32_t right) const { return bits_[slot(left, right)]; }

  private:
    static std::size_t slot(char32_t left, char32_t right) {
        const uint64_t pair = static_cast<uint64_t>(left) << 32 | right;
        return (pair * 0x9E3779B97F4A7C15U) >> 44;  // the top 20 bits of Fibonacci hashing
    }
    std::vector<bool> bits_;
};

struct SentencePieceVocabulary {
    std::vector<std::string> bytes;  // [vocab] what a token stands for; empty for control tokens
    std::vector<std::string> names;  // [vocab] of special tokens, else empty
    TokenMatcher specials;           // recognised in markup only
    TokenMatcher inseparable;        // user-defined text: recognised everywhere, never merged with its neighbours
    std::vector<int32_t> byte_ids;   // [256], or empty: no byte fallback
    std::vector<int32_t> stop_ids;   // ascending
    int32_t unknown_id = -1;
    CharacterPairs pairs;
    // An unused token is split again by a rule that looks at the whole text, so such text must not be cut.
    bool can_cut_text = true;
    bool add_space_prefix = true;
    std::string model;  // serialized, for libsentencepiece
};

Result<SentencePieceVocabulary> build_vocabulary(const SentencePieceSource& source);

}  // namespace octavo
