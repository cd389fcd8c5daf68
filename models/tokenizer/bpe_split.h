// Cuts text into the words that byte-level BPE merges in: no merge reaches across their borders.
//
// The rules of the Qwen families, alternatives in this order at every place:
//   1. an apostrophe with s, t, re, ve, m, ll or d, whatever their case
//   2. letters, and one character before them that is no newline, letter or number
//   3. one number
//   4. characters that are no white space, letter or number, with one space before and the newlines after them
//   5. white space up to the last newline in it
//   6. white space but for the last character, which belongs to the word after it; all of it at the end of the text
// qwen2: Qwen2 to Qwen3-Next. qwen35: Qwen3.5 on; combining marks count as letters there.
//
// Text is any bytes: broken UTF-8 counts as a character of no class. Time is linear in the text.
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace octavo {

enum class BpeSplit { qwen2, qwen35 };

// By the name of `tokenizer.ggml.pre`.
std::optional<BpeSplit> find_bpe_split(std::string_view name);
// By the regular expression of a tokenizer.json.
std::optional<BpeSplit> find_bpe_split_by_pattern(std::string_view pattern);

// Bytes of the first word; `text` is not empty.
std::size_t first_word(std::string_view text, BpeSplit split);

}  // namespace octavo
