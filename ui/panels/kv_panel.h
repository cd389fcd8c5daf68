// The Kv panel (see ui/state/kv_state.h).
//
// Threads: the window's.
#pragma once

#include "ui/actions.h"
#include "ui/state/kv_state.h"
#include "ui/ui.h"

namespace octavo {

// What is local to the panel: text being typed, choices not asked for yet.
struct KvInput {};

void draw_kv_panel(Ui& ui, const KvState& state, KvInput& input, Actions& actions);

}  // namespace octavo
