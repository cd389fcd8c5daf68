// What an empty window says: what can be done here at once, and what this machine can run.
//
// Threads: the window's.
#pragma once

#include "ui/actions.h"
#include "ui/ui.h"
#include "ui/view_state.h"

namespace octavo {

// In the middle of a region of this size from the cursor. Returns true when the recall check was asked for.
bool draw_welcome(Ui& ui, const WelcomeState& state, ImVec2 region, Actions& actions);

}  // namespace octavo
