#include "ui/panels/model_list.h"

#include <imgui_stdlib.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "ui/number_text.h"
#include "ui/panels/controls.h"
#include "ui/widgets.h"

namespace octavo {
namespace {

constexpr size_t kMostShown = 60;

// ASCII only; names of models are.
bool contains_ignoring_case(std::string_view text, std::string_view word) {
    const auto same = [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); };
    return std::search(text.begin(), text.end(), word.begin(), word.end(), same) != text.end();
}

// Every word of the query, in the name or the details.
bool matches(const ModelFileItem& item, std::string_view query) {
    while (!query.empty()) {
        const size_t end = std::min(query.find(' '), query.size());
        const std::string_view word = query.substr(0, end);
        if (!contains_ignoring_case(item.name, word) && !contains_ignoring_case(item.details, word)) return false;
        query.remove_prefix(std::min(end + 1, query.size()));
    }
    return true;
}

std::vector<const ModelFileItem*> matching(const std::vector<ModelFileItem>& items, std::string_view query) {
    std::vector<const ModelFileItem*> found;
    for (const ModelFileItem& item : items)
        if (matches(item, query)) found.push_back(&item);
    return found;
}

void draw_search(Ui& ui, std::string& query) {
    ui.loader.see(Face::body, query);
    ImGui::PushStyleColor(ImGuiCol_FrameBg, ui.theme.raised);
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ImVec2(ui.px(32), ui.px(6)));
    ImGui::SetNextItemWidth(-1);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    ImGui::InputTextWithHint("##model-search", "Search models", &query, ImGuiInputTextFlags_EscapeClearsAll);
    ImGui::PopStyleVar();
    ImGui::PopStyleColor();
    draw_icon(*ImGui::GetWindowDrawList(), Icon::search, {at.x + ui.px(8), at.y + ui.px(7)}, ui.px(16), ui.theme.muted);
}

void draw_item(Ui& ui, const ModelFileItem& item, bool loaded, Actions& actions) {
    ImGui::PushID(item.path.empty() ? item.name.c_str() : item.path.c_str());
    const std::string label = item.name + "##model-file";
    const std::string size = item.bytes > 0 ? format_size(item.bytes) : "";
    if (list_row(ui, label.c_str(),
                 {.icon = loaded ? Icon::check : Icon::file,
                  .figure = size,
                  .tooltip = item.path.empty() ? nullptr : item.path.c_str(),
                  .enabled = item.problem.empty() && !loaded}))
        actions.push_back(action::LoadModel{item.path});
    if (!item.details.empty())
        text_line(ui, Face::small, ui.theme.muted, item.details, ImGui::GetContentRegionAvail().x);
    if (!item.problem.empty()) text_block(ui, Face::small, ui.theme.error, item.problem);
    if (!item.warning.empty()) text_block(ui, Face::small, ui.theme.warning, item.warning);
    for (const std::string& note : item.notes) text_block(ui, Face::small, ui.theme.muted, note);
    ImGui::PopID();
}

void draw_items(Ui& ui, const ModelState& state, const std::vector<const ModelFileItem*>& items, Actions& actions) {
    for (size_t i = 0; i < std::min(items.size(), kMostShown); ++i)
        draw_item(ui, *items[i], state.loaded && !items[i]->path.empty() && state.loaded->path == items[i]->path,
                  actions);
    if (items.size() > kMostShown)
        text_block(ui, Face::small, ui.theme.muted,
                   format_count(static_cast<int64_t>(items.size() - kMostShown)) + " more: search to narrow the list.");
}

}  // namespace

void draw_model_list(Ui& ui, const ModelState& state, ModelInput& input, Actions& actions) {
    section(ui, "Models on this machine");
    if (!state.list->items.empty() || !state.list->refused.empty()) draw_search(ui, input.query);
    const std::vector<const ModelFileItem*> items = matching(state.list->items, input.query);
    const std::vector<const ModelFileItem*> refused = matching(state.list->refused, input.query);
    draw_items(ui, state, items, actions);
    if (items.empty())
        text_block(ui, Face::small, ui.theme.muted,
                   state.searching              ? "Looking for models…"
                   : !state.list->items.empty() ? "No model has these words."
                                                : "No model that Octavo can run was found. It runs GGUF files of the "
                                                  "Qwen3-Next, Qwen3.5 and Qwen3.6 families.");
    if (refused.empty()) return;
    const std::string count = format_count(static_cast<int64_t>(refused.size()));
    const std::string label =
        (input.show_refused ? "Hide the " : "Show ") + count + " that cannot be loaded##show-refused";
    if (button(ui, label.c_str(), {.kind = ButtonKind::quiet, .width = -1, .small = true}))
        input.show_refused = !input.show_refused;
    if (input.show_refused) draw_items(ui, state, refused, actions);
}

}  // namespace octavo
