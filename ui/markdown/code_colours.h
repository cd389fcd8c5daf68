// Code with its comments, strings and keywords marked. One scanner for all languages: a table says how comments begin
// in each; the keywords are those of the usual languages together. Good enough to read by, no more.
//
// Threads: pure functions.
#pragma once

#include <string_view>

#include "ui/markdown/styled_text.h"

namespace octavo {

// `language` as it stands behind the fence ("cpp"); one that is not known, or none, leaves the code plain.
StyledText colour_code(std::string_view code, std::string_view language);

}  // namespace octavo
