// Text of any origin, made safe to lay out: valid UTF-8 without control characters.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace octavo {

// Bytes that are not UTF-8, and control characters, become U+FFFD, one for each broken character; "\r\n" and '\r'
// become
// '\n', a tab stays. Marks that turn the reading direction are dropped: text must not be able to disguise itself.
std::string clean_text(std::string_view text);

// Characters that take no room: joiners, variation selectors, marks of direction. They stay in the text and are copied
// with it, but nothing is drawn for them.
bool is_zero_width(char32_t character);
// Characters that belong to the one before them: a line never begins with one.
bool is_combining(char32_t character);
// Characters between which a line may break anywhere: ideographs, kana, Hangul, emoji.
bool breaks_anywhere(char32_t character);

}  // namespace octavo
