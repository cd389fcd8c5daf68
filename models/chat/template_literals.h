// The texts that a Jinja template writes as they are: every expression {{ ... }} that is one string literal and nothing
// else, unescaped, in order.
//
// Threads: pure function. Non-goal: running templates.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace octavo {

std::vector<std::string> template_literals(std::string_view source);

}  // namespace octavo
