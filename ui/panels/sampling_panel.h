// The Sampling panel: how the next token is chosen, how long a reply may be, and the conversation's system prompt.
// A change holds from the next reply on.
//
// Threads: the window's.
#pragma once

#include <string>

#include "ui/actions.h"
#include "ui/state/sampling_state.h"
#include "ui/ui.h"

namespace octavo {

struct SamplingInput {
    SamplingChoice choice;
    std::string seed;  // as typed
    uint64_t revision = 0;
    bool seen = false;
};

void draw_sampling_panel(Ui& ui, const SamplingState& state, SamplingInput& input, Actions& actions);

}  // namespace octavo
