// The tokenizer part of a GGUF file: arrays and ids, with their lengths and ranges checked, whatever the tokenizer
// family. The tokenizers check what the tokens mean.
//
// Errors: one sentence with the key. Views point into the file. Threads: pure function.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "kernels/base/error.h"
#include "models/gguf/metadata.h"

namespace octavo {

struct GgufVocabulary {
    std::string_view model;                // "llama" (SentencePiece) or "gpt2" (byte-level BPE)
    std::string_view pre;                  // gpt2: name of the split rule
    std::vector<std::string_view> tokens;  // [tokens]
    std::vector<float> scores;             // [tokens], or empty
    std::vector<int32_t> types;            // [tokens], or empty
    std::vector<std::string_view> merges;  // gpt2: "left right", the first merges first
    int32_t eos = -1;                      // -1: the file names none
    int32_t eot = -1;
    int32_t padding = -1;
    int32_t unknown = -1;
    bool add_space_prefix = true;
};

// No value: the file has no tokenizer. `vocab`: rows of the embedding; there may be fewer tokens, not more. 0: the file
// has no embedding.
Result<std::optional<GgufVocabulary>> read_gguf_vocabulary(const GgufMetadata& metadata, int vocab);

}  // namespace octavo
