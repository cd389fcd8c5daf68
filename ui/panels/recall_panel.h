// The Recall panel: run the check beside the chat, look at what came out, click a square for its questions.
//
// Threads: the window's.
#pragma once

#include <set>

#include "ui/actions.h"
#include "ui/state/recall_state.h"
#include "ui/ui.h"

namespace octavo {

struct RecallInput {
    bool begun = false;
    std::set<int64_t> left_out;  // of the lengths that are offered
    int questions = 1;           // index of the choices
    bool with_reference = true;
    bool window_sweep = false;
    // The square whose questions are shown.
    const RecallRunView* run = nullptr;  // compared, never followed
    int scheme = -1;
    int cell = -1;
};

void draw_recall_panel(Ui& ui, const RecallState& state, RecallInput& input, Actions& actions);

}  // namespace octavo
