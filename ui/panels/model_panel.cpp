#include "ui/panels/model_panel.h"

#include "ui/number_text.h"
#include "ui/widgets.h"

namespace octavo {

void draw_model_panel(Ui& ui, const ModelState& state, ModelInput& /*input*/, Actions& actions) {
    section(ui, "Model");
    if (state.loaded) {
        figure_row(ui, "Name", state.loaded->name);
        figure_row(ui, "Architecture", state.loaded->architecture);
        figure_row(ui, "Parameters", state.loaded->parameters);
        figure_row(ui, "Weights", format_size(state.loaded->bytes));
        figure_row(ui, "Context", format_count(state.loaded->context_tokens));
        text_block(ui, Face::small, ui.theme.muted, state.loaded->placement);
    } else {
        text_block(ui, Face::body, ui.theme.muted, "No model is loaded.");
    }
    if (!state.error.empty()) text_block(ui, Face::body, ui.theme.error, state.error);
    if (button(ui, "Open a model file…##pick", {.icon = Icon::folder, .width = -1}))
        actions.push_back(action::PickModel{});
}

}  // namespace octavo
