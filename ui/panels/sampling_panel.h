// The Sampling panel (see ui/state/sampling_state.h).
//
// Threads: the window's.
#pragma once

#include "ui/actions.h"
#include "ui/state/sampling_state.h"
#include "ui/ui.h"

namespace octavo {

// What is local to the panel: text being typed, choices not asked for yet.
struct SamplingInput {};

void draw_sampling_panel(Ui& ui, const SamplingState& state, SamplingInput& input, Actions& actions);

}  // namespace octavo
