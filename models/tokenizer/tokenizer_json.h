// Byte-level BPE from a tokenizer.json, as Hugging Face folders have it: `model.vocab`, `model.merges`, `added_tokens`,
// the normaliser (NFC or none) and the split rule by its regular expression (bpe_split.h).
//
// Errors: a sentence that names the field, also for kinds of tokenizers that are not supported.
// Threads: pure function. Non-goals: other models (Unigram, WordPiece), post-processors (nothing is added to a text).
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "kernels/base/error.h"
#include "models/tokenizer/special_ids.h"
#include "models/tokenizer/tokenizer.h"

namespace octavo {

// `vocab_size`: ids of the model, of which the last may have no token.
Result<std::shared_ptr<const Tokenizer>> make_bpe_from_json(std::string_view json, const SpecialIds& special,
                                                            int32_t vocab_size);

}  // namespace octavo
