// Markdown inside a paragraph: emphasis, code, links, escapes.
//
// Takes time in proportion to the text, whatever the text is. Non-goals: HTML (but for <br>), references, footnotes.
//
// Threads: pure functions.
#pragma once

#include <string_view>

#include "ui/markdown/styled_text.h"

namespace octavo {

// `text` is clean (see clean_text). `growing`: the text is not at its end yet, so what was opened (strong text, code)
// counts as going on instead of showing its marks.
StyledText parse_inline(std::string_view text, bool growing);

}  // namespace octavo
