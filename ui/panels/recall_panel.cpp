#include "ui/panels/recall_panel.h"

#include "ui/number_text.h"
#include "ui/widgets.h"

namespace octavo {

void draw_recall_panel(Ui& ui, const RecallState& state, RecallInput& /*input*/, Actions& actions) {
    section(ui, "Recall");
    if (!state.available) {
        text_block(ui, Face::body, ui.theme.muted, state.unavailable);
        return;
    }
    if (state.running) {
        progress_bar(ui, state.total > 0 ? static_cast<double>(state.done) / static_cast<double>(state.total) : -1);
        if (button(ui, "Stop##recall", {.width = -1})) actions.push_back(action::StopRecall{});
    }
    if (state.current)
        figure_row(ui, state.current->settings,
                   format_count(state.current->correct) + " of " + format_count(state.current->n) + " found");
}

}  // namespace octavo
