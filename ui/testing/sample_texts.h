// Texts of the sample states: every kind of Markdown, and every kind of character.
//
// Threads: constants.
#pragma once

#include <string_view>

namespace octavo {

extern const std::string_view sample_reply;
extern const std::string_view sample_code_reply;
extern const std::string_view sample_thinking;
extern const std::string_view sample_scripts;  // CJK, Arabic, emoji, combining marks, broken UTF-8

}  // namespace octavo
