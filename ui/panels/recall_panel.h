// The Recall panel (see ui/state/recall_state.h).
//
// Threads: the window's.
#pragma once

#include "ui/actions.h"
#include "ui/state/recall_state.h"
#include "ui/ui.h"

namespace octavo {

// What is local to the panel: text being typed, choices not asked for yet.
struct RecallInput {};

void draw_recall_panel(Ui& ui, const RecallState& state, RecallInput& input, Actions& actions);

}  // namespace octavo
