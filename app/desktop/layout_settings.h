// The window's arrangement, as the store keeps it.
//
// Threads: pure functions.
#pragma once

#include "app/store/settings.h"
#include "ui/layout.h"

namespace octavo {

// Anything missing or senseless is as in a new window.
WindowLayout layout_of(const Settings& settings);
Settings to_stored(const WindowLayout& layout);

}  // namespace octavo
