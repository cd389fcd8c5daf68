// Byte-level BPE vocabularies: from the arrays of a GGUF file whose `tokenizer.ggml.model` is "gpt2", or from a
// tokenizer.json. Every byte is a token of its own, so any text can be encoded and comes back, apart from the
// normalisation (NFC) that the vocabulary may ask for.
//
// Special tokens (control tokens, and user-defined ones such as "<think>") are recognised in markup parts only. Control
// tokens, and all that are named "<|...|>", have no bytes.
//
// Source: the rules of Hugging Face's tokenizers: added tokens are cut out first, what is between them is normalised,
// split into words (bpe_split.h) and merged (bpe_merges.h).
// Errors: a sentence for every fault of a vocabulary (lengths, types, ids, duplicates, merges).
// Threads: make_bpe_tokenizer may be called from any thread; the tokenizer is immutable.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "kernels/base/error.h"
#include "models/tokenizer/bpe_split.h"
#include "models/tokenizer/special_ids.h"
#include "models/tokenizer/tokenizer.h"

namespace octavo {

// The views need to live only during the call.
struct BpeSource {
    // How the file calls the arrays, for errors.
    struct Names {
        std::string_view tokens = "tokenizer.ggml.tokens";
        std::string_view types = "tokenizer.ggml.token_type";
        std::string_view merges = "tokenizer.ggml.merges";
    };
    std::span<const std::string_view> tokens;  // [tokens] each byte of a normal one as the character that stands for it
    std::span<const int32_t> types;            // [tokens] as in GGUF, unchecked; or empty: all normal
    std::span<const std::string_view> merges;  // "left right", the first merges first
    BpeSplit split = BpeSplit::qwen2;
    bool normalises = true;  // to NFC
    SpecialIds special;
    int32_t vocab_size = 0;  // ids of the model; those beyond the tokens have no bytes
    Names names = {};
};

Result<std::shared_ptr<const Tokenizer>> make_bpe_tokenizer(const BpeSource& source);

}  // namespace octavo
