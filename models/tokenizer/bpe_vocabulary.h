// The checked vocabulary behind a byte-level BPE tokenizer: what each token is, and its merges.
//
// Threads: build_bpe_vocabulary is pure; the result is plain data.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/base/error.h"
#include "models/tokenizer/bpe_merges.h"
#include "models/tokenizer/bpe_tokenizer.h"
#include "models/tokenizer/token_matcher.h"

namespace octavo {

struct BpeVocabulary {
    std::vector<std::string> bytes;     // [vocab_size] what a token stands for; empty for control tokens
    std::vector<std::string> names;     // [vocab_size] of special tokens, else empty
    TokenMatcher specials;              // recognised in markup only
    std::array<int32_t, 256> byte_ids;  // the token of each byte; -1: none
    BpeMerges merges;
    std::vector<int32_t> stop_ids;  // ascending
};

Result<BpeVocabulary> build_bpe_vocabulary(const BpeSource& source);

}  // namespace octavo
