// A picture of the window in some state, made without a display or a GPU.
//
// Threads: any, one at a time.
#pragma once

#include <string>

#include "ui/layout.h"
#include "ui/view_state.h"

namespace octavo {

// The bytes of a PNG file of layout.width by layout.height pixels.
// `open_panel`: layout.panel lies over the middle where it has no room beside it.
std::string screenshot_png(const WindowLayout& layout, const ViewState& state, bool open_panel = false);

}  // namespace octavo
