#include "ui/help_view.h"

#include <algorithm>

#include "ui/widgets.h"

namespace octavo {
namespace {

// An empty `what` makes a heading.
constexpr KeyHelp kKeys[] = {
    {"Writing", ""},
    {"Enter", "Send"},
    {"Shift+Enter", "New line"},
    {"Esc", "Stop reading or writing"},
    {"Ctrl+O", "Attach a text file"},
    {"Ctrl+V", "Paste; a long text is attached"},
    {"Conversations", ""},
    {"Ctrl+N", "New chat"},
    {"Ctrl+F", "Search titles and texts"},
    {"Ctrl+R", "Write the newest reply again"},
    {"Ctrl+C", "Copy the selected text"},
    {"PgUp, PgDn", "Scroll the messages"},
    {"Window", ""},
    {"Ctrl+B", "Show or hide the conversations"},
    {"Ctrl+J", "Show or hide the panel"},
    {"Ctrl+1 … 4", "Model, KV cache, recall, sampling"},
    {"Ctrl+Plus, Minus, 0", "Larger, smaller, as it was"},
    {"Ctrl+D", "Light or dark"},
    {"Ctrl+L", "To the message field"},
    {"Tab", "From item to item"},
    {"F1", "This page"},
    {"Ctrl+Q", "Quit"},
};

}  // namespace

std::span<const KeyHelp> key_help() { return kKeys; }

void draw_help(Ui& ui, bool& open) {
    if (open && !ImGui::IsPopupOpen("##help")) ImGui::OpenPopup("##help");
    const ImVec2 screen = ImGui::GetMainViewport()->Size;
    const float width = std::min(ui.px(540), screen.x - ui.px(24));
    ImGui::SetNextWindowPos({screen.x / 2, screen.y / 2}, ImGuiCond_Always, {0.5f, 0.5f});
    ImGui::SetNextWindowSizeConstraints({width, 0}, {width, screen.y - ui.px(24)});
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(ui.px(22), ui.px(18)));
    ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, ui.px(12));
    if (ImGui::BeginPopupModal(
            "##help", nullptr,
            ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_AlwaysAutoResize | ImGuiWindowFlags_NoSavedSettings)) {
        text_line(ui, Face::heading, ui.theme.text, "Keys");
        ImGui::SameLine(width - ui.px(52));
        const bool closed = button(ui, "##close-help", {.kind = ButtonKind::quiet, .icon = Icon::close, .muted = true});
        for (const KeyHelp& key : kKeys) {
            if (key.what[0] == '\0') {
                section(ui, key.keys);
                continue;
            }
            text_line(ui, Face::body, ui.theme.muted, key.keys, width * 0.4f);
            ImGui::SameLine(width * 0.4f);
            text_line(ui, Face::body, ui.theme.text, key.what, width * 0.6f - ui.px(22));
        }
        if (closed || !open || ImGui::IsKeyPressed(ImGuiKey_Escape)) {
            open = false;
            ImGui::CloseCurrentPopup();
        }
        ImGui::EndPopup();
    }
    ImGui::PopStyleVar(2);
}

}  // namespace octavo
