// The KV cache panel: how keys and values are stored, what every way would cost, where the memory is. Nothing changes
// before "Apply", and what it would take is shown while a slider is dragged.
//
// Threads: the window's.
#pragma once

#include "ui/actions.h"
#include "ui/state/kv_state.h"
#include "ui/ui.h"

namespace octavo {

// What the person has set but not applied; it follows what is applied until then.
struct KvInput {
    KvChoice applied;  // as last seen
    KvChoice choice;
    bool seen = false;
};

void draw_kv_panel(Ui& ui, const KvState& state, KvInput& input, Actions& actions);

// Words for the classes of the scheme list.
const char* kv_error_text(KvErrorClass error);
const char* kv_speed_text(KvSpeedClass speed);

}  // namespace octavo
