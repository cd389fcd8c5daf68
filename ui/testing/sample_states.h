// Made-up states of the window, one for everything it can be in: for tests, and for pictures of it.
//
// Threads: pure functions.
#pragma once

#include <span>
#include <string_view>

#include "kernels/base/error.h"
#include "ui/view_state.h"

namespace octavo {

std::span<const std::string_view> sample_state_names();  // "chat", "empty", "loading", ...
// ErrorKind::usage names those that exist.
Result<ViewState> sample_state(std::string_view name);

}  // namespace octavo
