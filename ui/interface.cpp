#include "ui/interface.h"

#include <algorithm>

#include "ui/number_text.h"
#include "ui/widgets.h"

namespace octavo {
namespace {

constexpr ImGuiWindowFlags kWholeWindow = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                                          ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoBringToFrontOnFocus |
                                          ImGuiWindowFlags_NoNavFocus;

constexpr const char* kPanelNames[side_panel_count] = {"Model##panel", "KV cache##panel", "Recall##panel",
                                                       "Sampling##panel"};

}  // namespace

void Interface::draw(Ui& ui, const ViewState& state, Actions& actions) {
    ImGui::SetNextWindowPos({0, 0});
    ImGui::SetNextWindowSize(ImGui::GetIO().DisplaySize);
    ImGui::Begin("Octavo", nullptr, kWholeWindow);
    const float width = ImGui::GetContentRegionAvail().x;
    const float list_width = ui.px(layout_.list_width);
    const float panel_width = ui.px(layout_.panel_width);
    const bool panel_shown = layout_.panel_open && width - panel_width >= ui.px(400);
    const bool list_shown = layout_.list_open && width - list_width - (panel_shown ? panel_width : 0) >= ui.px(400);

    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, 0));
    if (list_shown) {
        ImGui::PushStyleColor(ImGuiCol_ChildBg, ui.theme.panel);
        ImGui::BeginChild("list", {list_width, 0});
        ImGui::PopStyleColor();
        draw_list_column(ui, state, actions);
        ImGui::EndChild();
        ImGui::SameLine();
    }
    ImGui::BeginChild("middle", {width - (list_shown ? list_width : 0) - (panel_shown ? panel_width : 0), 0});
    draw_middle(ui, state, actions);
    ImGui::EndChild();
    if (panel_shown) {
        ImGui::SameLine();
        ImGui::PushStyleColor(ImGuiCol_ChildBg, ui.theme.panel);
        ImGui::BeginChild("panel", {0, 0});
        ImGui::PopStyleColor();
        draw_panel_column(ui, state, actions);
        ImGui::EndChild();
    }
    ImGui::PopStyleVar();
    draw_file_browser(ui, state.file_browser, file_browser_, actions);
    ImGui::End();
}

void Interface::draw_list_column(Ui& ui, const ViewState& state, Actions& actions) {
    if (button(ui, "New chat##new", {.icon = Icon::plus, .width = -1})) actions.push_back(action::NewConversation{});
    for (const ConversationItem& item : state.conversations.items) {
        const std::string label = item.title + "##conversation-" + std::to_string(item.id);
        if (button(ui, label.c_str(),
                   {.kind = ButtonKind::quiet, .width = -1, .selected = item.id == state.conversations.selected}))
            actions.push_back(action::OpenConversation{item.id});
    }
}

void Interface::draw_middle(Ui& ui, const ViewState& state, Actions& /*actions*/) {
    for (const auto& message : state.transcript.messages) {
        text_block(ui, Face::body, ui.theme.text, message->text);
        space(ui, 12);
    }
}

void Interface::draw_panel_column(Ui& ui, const ViewState& state, Actions& actions) {
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(ui.px(16), ui.px(12)));
    ImGui::BeginChild("panel-content", {0, 0}, ImGuiChildFlags_AlwaysUseWindowPadding);
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(ui.px(8), ui.px(6)));
    const int chosen = segments(ui, kPanelNames, side_panel_count, static_cast<int>(layout_.panel));
    if (chosen >= 0) layout_.panel = static_cast<SidePanel>(chosen);
    switch (layout_.panel) {
        case SidePanel::model: draw_model_panel(ui, state.model, model_, actions); break;
        case SidePanel::kv: draw_kv_panel(ui, state.kv, kv_, actions); break;
        case SidePanel::recall: draw_recall_panel(ui, state.recall, recall_, actions); break;
        case SidePanel::sampling: draw_sampling_panel(ui, state.sampling, sampling_, actions); break;
    }
    ImGui::PopStyleVar();
    ImGui::EndChild();
    ImGui::PopStyleVar();
}

}  // namespace octavo
