// UTF-8, strictly: no overlong forms, no surrogates, nothing above U+10FFFF.
//
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <string_view>

namespace octavo {

struct Utf8Step {
    enum class Kind {
        character,  // a whole character of `bytes` bytes
        broken,     // `bytes` bytes that stand for one U+FFFD (the longest start of a character, at least one byte)
        cut,        // the text ends inside a character that is sound so far
    };
    Kind kind = Kind::cut;
    int bytes = 0;           // 1 to 4; 0 only for an empty text
    char32_t character = 0;  // when kind is character
};

// The first character of `text`.
Utf8Step read_utf8(std::string_view text);

inline constexpr std::string_view replacement_character = "\xEF\xBF\xBD";  // U+FFFD

bool is_valid_utf8(std::string_view text);

}  // namespace octavo
