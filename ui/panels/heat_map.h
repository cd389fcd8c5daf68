// The heat map of one scheme: a row for each length, a column for each depth; a square's colour is the share of right
// answers, its text how many of how many.
//
// Threads: the window's, inside a frame.
#pragma once

#include "ui/state/recall_state.h"
#include "ui/ui.h"

namespace octavo {

// The index of the cell that was clicked; -1 for none. `chosen` is framed. Cells are "##cell-LENGTH-DEPTH".
int draw_heat_map(Ui& ui, const RecallSchemeView& scheme, int chosen);

}  // namespace octavo
