// The Model panel (see ui/state/model_state.h).
//
// Threads: the window's.
#pragma once

#include "ui/actions.h"
#include "ui/state/model_state.h"
#include "ui/ui.h"

namespace octavo {

// What is local to the panel: text being typed, choices not asked for yet.
struct ModelInput {};

void draw_model_panel(Ui& ui, const ModelState& state, ModelInput& input, Actions& actions);

}  // namespace octavo
