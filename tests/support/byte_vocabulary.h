// Byte-level BPE vocabularies for tests: arrays as a file has them, owned, to be spoilt or written.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/tokenizer/bpe_tokenizer.h"
#include "tests/support/gguf_writer.h"

namespace octavo::test {

struct ByteVocabulary {
    std::vector<std::string> tokens;
    std::vector<int32_t> types;
    std::vector<std::string> merges;
    BpeSplit split = BpeSplit::qwen2;
    SpecialIds special;
    bool normalises = true;
    int32_t vocab_size = 0;

    int32_t add(std::string token, int32_t type = 1);
    // A merge of two tokens, and the token that it makes.
    int32_t merge(const std::string& left, const std::string& right);
    Result<std::shared_ptr<const Tokenizer>> make() const;

    void write(GgufWriter& file) const;
    std::string tokenizer_json() const;
};

// How a token's name spells a byte: itself where that is printable in Latin-1, else a character from U+0100 on.
std::string byte_name(uint8_t byte);
std::string byte_names(std::string_view bytes);

// The 256 bytes (ids 0 to 255) and <|endoftext|>, <|im_start|>, <|im_end|> (256 to 258), <think>, </think> (259, 260).
ByteVocabulary plain_bytes();
// The same with `merges` more tokens, for the pairs that are most frequent in `text`.
ByteVocabulary trained_on(std::string_view text, int merges);

}  // namespace octavo::test
