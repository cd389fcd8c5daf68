// The Model panel: what is loaded and where it lies, what else could be loaded, on which device.
//
// Threads: the window's.
#pragma once

#include <string>

#include "ui/actions.h"
#include "ui/state/model_state.h"
#include "ui/ui.h"

namespace octavo {

struct ModelInput {
    std::string query;  // words that names and details must have
    bool show_refused = false;
};

void draw_model_panel(Ui& ui, const ModelState& state, ModelInput& input, Actions& actions);

}  // namespace octavo
