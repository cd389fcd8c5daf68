// Token ids that a file's metadata names, whatever the tokenizer family.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/base/error.h"
#include "models/tokenizer/token_matcher.h"

namespace octavo {

// -1 where the metadata names none.
struct SpecialIds {
    int32_t end_of_text = -1;         // GGUF eos_token_id
    int32_t end_of_turn = -1;         // GGUF eot_token_id
    int32_t padding = -1;             // GGUF padding_token_id
    int32_t unknown = -1;             // GGUF unknown_token_id; SentencePiece: where no token has the type "unknown"
    std::vector<int32_t> stops = {};  // more ids that end a reply
};

// The sentence names the key of an id outside the vocabulary.
Status check_special_ids(const SpecialIds& ids, int32_t vocab_size);

// Ascending: the ends that the metadata names, and <|im_end|> and <|endoftext|> where `specials` has them.
std::vector<int32_t> find_stop_ids(const SpecialIds& ids, const TokenMatcher& specials);

}  // namespace octavo
