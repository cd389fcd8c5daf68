#include "ui/panels/kv_panel.h"

#include "ui/number_text.h"
#include "ui/widgets.h"

namespace octavo {

void draw_kv_panel(Ui& ui, const KvState& state, KvInput& /*input*/, Actions& actions) {
    section(ui, "KV cache");
    if (!state.available) {
        text_block(ui, Face::body, ui.theme.muted, "Load a model to see what its cache costs.");
        return;
    }
    text_line(ui, Face::title, ui.theme.text, format_count(state.bytes_per_token) + " bytes");
    text_line(ui, Face::small, ui.theme.muted, "a token, all layers");
    figure_row(ui, "Scheme", kv_scheme_name(state.applied.settings.scheme));
    figure_row(ui, "Context", format_count(state.applied.context_tokens));
    for (const KvSchemeRow& row : state.rows) {
        ImGui::PushID(row.name.c_str());
        const std::string label = row.name + "##scheme";
        if (button(ui, label.c_str(), {.kind = ButtonKind::quiet, .enabled = row.unavailable.empty()})) {
            KvChoice choice = state.applied;
            choice.settings = default_kv_settings(row.scheme);
            actions.push_back(action::PriceKv{choice});
        }
        ImGui::PopID();
    }
    section(ui, "Memory");
    for (const MemoryLineState& line : state.plan) figure_row(ui, line.name, format_size(line.planned_bytes));
}

}  // namespace octavo
