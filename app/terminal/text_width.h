// How many terminal columns text takes: 0 for combining marks, 2 for East Asian wide characters and emoji, else 1.
//
// Source: the broad ranges of Unicode's EastAsianWidth.txt. Non-goal: grapheme clusters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace octavo {

// A character of UTF-8 text. Broken bytes are characters of their own (U+FFFD, one byte).
struct TextCharacter {
    char32_t code = 0;
    size_t bytes = 1;
    int columns = 1;
};

TextCharacter character_at(std::string_view text, size_t position);
// Where the character that ends before `position` begins; position > 0.
size_t previous_character(std::string_view text, size_t position);
int text_columns(std::string_view text);

}  // namespace octavo
