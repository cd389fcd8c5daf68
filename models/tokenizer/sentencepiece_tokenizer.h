// SentencePiece BPE vocabularies, from a `tokenizer.model` (Hugging Face folder) or from the arrays of a GGUF file
// whose `tokenizer.ggml.model` is "llama". libsentencepiece does the merging; the same tokens give the same ids either
// way.
//
// Bytes that are no UTF-8 become the vocabulary's byte tokens, so they survive a round trip. U+2581 in a text counts as
// a space, as everywhere with SentencePiece: it is the one character that comes back changed.
// Special tokens: control tokens, and what is named like markup ("<|im_end|>", "<think>"), are recognised in markup
// parts only. Other user-defined tokens (Pocket's newline) are part of the text and recognised everywhere. Control
// tokens, and all that are named "<|...|>", have no bytes.
//
// Errors: a sentence for every fault of a vocabulary (lengths, types, scores, ids, duplicates, broken UTF-8).
// Threads: make_sentencepiece may be called from any thread; the tokenizer is immutable.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "kernels/base/error.h"
#include "models/tokenizer/special_ids.h"
#include "models/tokenizer/tokenizer.h"

namespace octavo {

// The views need to live only during the call.
struct SentencePieceSource {
    std::span<const std::string_view> tokens;  // [vocab] UTF-8, U+2581 for a space
    std::span<const float> scores;             // [vocab] higher merges first
    std::span<const int32_t> types;            // [vocab] PieceType, unchecked
    SpecialIds special;
    bool add_space_prefix = true;  // GGUF add_space_prefix (true when the key is absent)
};

Result<std::shared_ptr<const Tokenizer>> make_sentencepiece(const SentencePieceSource& source);

// `model`: the bytes of a tokenizer.model.
Result<std::shared_ptr<const Tokenizer>> make_sentencepiece(std::string_view model, const SpecialIds& special);

}  // namespace octavo
