// Text from files, made safe to show at a terminal: a hostile model must not move the cursor, change colours or titles,
// forge lines, or turn the reading direction.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace octavo {

// One line: '\n', '\r' and '\t' are written as escapes; other control characters, marks that change the direction of
// the text and bytes that are not UTF-8 become U+FFFD.
std::string printable_line(std::string_view text);

// The same for text of several lines: '\n' and '\t' stay.
std::string printable_text(std::string_view text);

}  // namespace octavo
