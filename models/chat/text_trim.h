// White space at the ends of a text, as Python's str.strip() sees it (templates are written against that): also the
// Unicode spaces. Broken UTF-8 is no white space.
//
// Threads: pure functions.
#pragma once

#include <string_view>

namespace octavo {

std::string_view trim_left(std::string_view text);
std::string_view trim_right(std::string_view text);
std::string_view trim(std::string_view text);

// The same for one character only.
std::string_view trim_left(std::string_view text, char c);
std::string_view trim_right(std::string_view text, char c);

}  // namespace octavo
