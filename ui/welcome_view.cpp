#include "ui/welcome_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ui/widgets.h"

namespace octavo {
namespace {

constexpr float kWidth = 470;
constexpr float kRow = 52;
constexpr size_t kMostSuggestions = 3;  // questions about the example

// A wide button with a line of explanation.
bool offer(Ui& ui, const char* label, Icon icon, std::string_view title, std::string_view what, float width) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const ImVec2 end(at.x + width, at.y + ui.px(kRow));
    const bool clicked = ImGui::InvisibleButton(label, {width, ui.px(kRow)});
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddRectFilled(at, end, ImGui::IsItemHovered() ? ui.theme.hover : ui.theme.raised, ui.px(10));
    list.AddRect(at, end, ImGui::IsItemFocused() ? ui.theme.accent : ui.theme.border, ui.px(10));
    draw_icon(list, icon, {at.x + ui.px(14), at.y + ui.px(16)}, ui.px(20), ui.theme.accent);
    ImGui::SetCursorScreenPos({at.x + ui.px(46), at.y + ui.px(8)});
    text_line(ui, Face::strong, ui.theme.text, title, width - ui.px(58));
    ImGui::SetCursorScreenPos({at.x + ui.px(46), at.y + ui.px(28)});
    text_line(ui, Face::small, ui.theme.muted, what, width - ui.px(58));
    ImGui::SetCursorScreenPos({at.x, end.y + ui.px(8)});
    return clicked;
}

}  // namespace

bool draw_welcome(Ui& ui, const WelcomeState& state, ImVec2 region, Actions& actions) {
    const float width = std::min(ui.px(kWidth), region.x - ui.px(32));
    const float left = std::floor((region.x - width) / 2);
    const float height =
        ui.px(190 + 3 * (kRow + 8) + 30 * static_cast<float>(std::min(state.suggestions.size(), kMostSuggestions)));
    ImGui::BeginChild("welcome", region);
    ImGui::SetCursorPos({left, std::max((region.y - height) / 2, ui.px(16))});
    ImGui::BeginChild("welcome-column", {width, 0}, ImGuiChildFlags_AutoResizeY,
                      ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse);
    text_line(ui, Face::title, ui.theme.text, "Octavo");
    space(ui, 4);
    text_block(ui, Face::body, ui.theme.muted, state.model);
    space(ui, 16);
    if (!state.example_name.empty() && offer(ui, "##use-example", Icon::file, "Read a long document",
                                             fmt::format("Attach “{}”, then ask about it", state.example_name), width))
        actions.push_back(action::UseExample{});
    for (size_t i = 0; i < std::min(state.suggestions.size(), kMostSuggestions); ++i) {
        const std::string label = fmt::format("{}##suggestion-{}", state.suggestions[i], i);
        if (button(ui, label.c_str(), {.kind = ButtonKind::quiet, .icon = Icon::send, .small = true, .muted = true})) {
            actions.push_back(action::UseExample{});
            actions.push_back(action::SendMessage{state.suggestions[i]});
        }
    }
    space(ui, 6);
    const bool recall = offer(ui, "##try-recall", Icon::search, "Check recall",
                              "Does the model still find facts, far back, under these settings?", width);
    if (offer(ui, "##pick-model", Icon::folder, "Open a model of your own",
              "A GGUF file, or a folder of safetensors; or drop it here", width))
        actions.push_back(action::PickModel{});
    space(ui, 8);
    text_block(ui, Face::small, ui.theme.muted, state.machine);
    ImGui::EndChild();
    ImGui::EndChild();
    return recall;
}

}  // namespace octavo
