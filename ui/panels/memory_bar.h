// Where the memory is: one bar of everything that is used and what is free, and the lines of the plan below it, planned
// beside measured.
//
// Threads: the window's, inside a frame.
#pragma once

#include "ui/state/kv_state.h"
#include "ui/ui.h"

namespace octavo {

void draw_memory(Ui& ui, const KvState& state);

}  // namespace octavo
