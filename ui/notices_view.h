// Sentences that lie over the transcript until they are dismissed.
//
// Threads: the window's.
#pragma once

#include <vector>

#include "ui/actions.h"
#include "ui/ui.h"
#include "ui/view_state.h"

namespace octavo {

// From the cursor downwards, at most `width` pixels wide.
void draw_notices(Ui& ui, const std::vector<Notice>& notices, float width, Actions& actions);

}  // namespace octavo
