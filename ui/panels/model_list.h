// The part of the Model panel that lists the models on this machine, with a field to search them.
//
// Threads: the window's. Private to ui/panels.
#pragma once

#include "ui/panels/model_panel.h"

namespace octavo {

void draw_model_list(Ui& ui, const ModelState& state, ModelInput& input, Actions& actions);

}  // namespace octavo
