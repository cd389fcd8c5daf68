#include "ui/conversations_view.h"

#include <fmt/format.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <cmath>

#include "ui/text/clean_text.h"
#include "ui/widgets.h"

namespace octavo {
namespace {

constexpr float kSide = 10;
constexpr float kRow = 36;
constexpr float kRowWithSnippet = 54;
constexpr float kGroup = 30;
constexpr float kFoot = 44;

}  // namespace

void ConversationsView::draw(Ui& ui, const ConversationsState& state, Actions& actions) {
    const float width = ImGui::GetContentRegionAvail().x - 2 * ui.px(kSide);
    ImGui::SetCursorPos({ui.px(kSide), ui.px(8)});
    ImGui::BeginGroup();
    if (button(ui, "New chat##new", {.icon = Icon::plus, .width = width})) actions.push_back(action::NewConversation{});
    space(ui, 8);
    ImGui::SetNextItemWidth(width);
    draw_search(ui, state, actions);
    ImGui::EndGroup();
    space(ui, 6);

    const float deleted = state.deleted ? ui.px(46) : 0;
    const float room = std::max(ImGui::GetContentRegionAvail().y - ui.px(kFoot) - deleted, ui.px(40));
    ImGui::BeginChild("conversations", {ImGui::GetContentRegionAvail().x - ui.px(5), room});  // beside it: the edge
    draw_items(ui, state, actions);
    ImGui::EndChild();
    if (state.deleted) draw_deleted(ui, state, actions);

    ImGui::SetCursorPosX(ui.px(kSide));
    ImGui::SetCursorPosY(ImGui::GetCursorPosY() + ui.px(7));
    if (button(ui, "Import##import",
               {.kind = ButtonKind::quiet,
                .icon = Icon::open,
                .tooltip = "Read conversations from a JSON file",
                .muted = true}))
        actions.push_back(action::ImportConversations{});
}

void ConversationsView::draw_search(Ui& ui, const ConversationsState& state, Actions& actions) {
    ui.loader.see(Face::body, query_);
    ImGui::PushStyleColor(ImGuiCol_FrameBg, mix(ui.theme.panel, ui.theme.raised, 0.7f));
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ImVec2(ui.px(32), ui.px(6)));
    if (wants_search_) focus_field("##search");
    wants_search_ = false;
    const ImVec2 at = ImGui::GetCursorScreenPos();
    if (ImGui::InputTextWithHint("##search", "Search", &query_, ImGuiInputTextFlags_EscapeClearsAll))
        actions.push_back(action::SearchConversations{query_});
    ImGui::PopStyleVar();
    ImGui::PopStyleColor();
    draw_icon(*ImGui::GetWindowDrawList(), Icon::search, {at.x + ui.px(8), at.y + ui.px(7)}, ui.px(16), ui.theme.muted);
    if (query_.empty() && !state.query.empty() && ImGui::IsItemDeactivated())
        actions.push_back(action::SearchConversations{});
}

void ConversationsView::draw_items(Ui& ui, const ConversationsState& state, Actions& actions) {
    if (!state.error.empty()) {
        ImGui::SetCursorPosX(ui.px(kSide + 6));
        text_block(ui, Face::small, ui.theme.error, state.error);
    }
    if (state.items.empty()) {
        ImGui::SetCursorPos({ui.px(kSide + 8), ImGui::GetCursorPosY() + ui.px(8)});
        text_line(ui, Face::small, ui.theme.muted,
                  state.loading         ? "Reading…"
                  : state.query.empty() ? "No conversations yet"
                                        : "Nothing found");
        return;
    }
    const std::string* group = nullptr;
    for (const ConversationItem& item : state.items) {
        if (state.query.empty() && !item.group_text.empty() && (group == nullptr || *group != item.group_text)) {
            ImGui::SetCursorPos({ui.px(kSide + 8), ImGui::GetCursorPosY() + ui.px(10)});
            text_line(ui, Face::small, ui.theme.muted, item.group_text);
            ImGui::SetCursorPosY(ImGui::GetCursorPosY() + ui.px(kGroup - 10) - ui.font(Face::small)->FontSize);
            group = &item.group_text;
        }
        draw_item(ui, item, item.id == state.selected, actions);
    }
    space(ui, 8);
}

void ConversationsView::draw_item(Ui& ui, const ConversationItem& item, bool selected, Actions& actions) {
    const float width = ImGui::GetContentRegionAvail().x - 2 * ui.px(kSide);
    const float height = ui.px(item.snippet.empty() ? kRow : kRowWithSnippet);
    ImGui::SetCursorPosX(ui.px(kSide));
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const ImVec2 end(at.x + width, at.y + height);
    const ImVec2 next(ImGui::GetCursorPosX(), ImGui::GetCursorPosY() + height + ui.px(1));
    if (!ImGui::IsRectVisible(at, end) && renaming_ != item.id) {
        ImGui::Dummy({width, height + ui.px(1)});
        return;
    }
    if (renaming_ == item.id) {
        draw_rename(ui, item, actions);
        ImGui::SetCursorPos(next);
        ImGui::Dummy({0, 0});
        return;
    }
    const std::string label = fmt::format("{}##conversation-{}", item.title, item.id);
    ImGui::SetNextItemAllowOverlap();
    if (ImGui::InvisibleButton(label.c_str(), {width, height}) && !selected)
        actions.push_back(action::OpenConversation{item.id});
    const std::string menu = fmt::format("menu-{}", item.id);
    if (ImGui::IsItemClicked(ImGuiMouseButton_Right)) ImGui::OpenPopup(menu.c_str());
    if (ImGui::IsItemHovered() && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) {
        renaming_ = item.id;
        new_title_ = item.title;
        wants_rename_focus_ = true;
    }
    const bool open = ImGui::IsPopupOpen(menu.c_str());
    const bool hovered =
        ImGui::IsMouseHoveringRect(at, end) && ImGui::IsWindowHovered(ImGuiHoveredFlags_AllowWhenBlockedByActiveItem);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    if (selected || hovered || open)
        list.AddRectFilled(at, end, selected ? ui.theme.selected : ui.theme.hover, ui.px(7));

    const bool with_button = hovered || open;
    const float time_width = text_size(ui, Face::small, item.time_text).x;
    const float right = with_button ? ui.px(30) : time_width + ui.px(18);
    const float text_top = item.snippet.empty() ? (height - ui.font(Face::body)->FontSize) / 2 : ui.px(8);
    float left = ui.px(10);
    if (item.busy) {
        list.AddCircleFilled({at.x + ui.px(13), at.y + text_top + ui.px(9)}, ui.px(3.5f), ui.theme.accent);
        left = ui.px(24);
    }
    ImGui::SetCursorScreenPos({at.x + left, at.y + text_top});
    const std::string title = clean_text(item.title);
    text_line(ui, Face::body, ui.theme.text, title.empty() ? "Untitled" : title,
              std::max(width - left - right, ui.px(20)));
    if (!item.snippet.empty()) {
        ImGui::SetCursorScreenPos({at.x + ui.px(10), at.y + ui.px(30)});
        text_line(ui, Face::small, ui.theme.muted, clean_text(item.snippet), width - ui.px(20));
    }
    if (with_button) {
        ImGui::SetCursorScreenPos({end.x - ui.px(29), at.y + text_top - ui.px(3)});
        const std::string more = fmt::format("##more-{}", item.id);
        if (button(ui, more.c_str(), {.kind = ButtonKind::quiet, .icon = Icon::more, .small = true, .muted = true}))
            ImGui::OpenPopup(menu.c_str());
    } else {
        ImGui::SetCursorScreenPos({end.x - time_width - ui.px(10), at.y + text_top + ui.px(1.5f)});
        text_line(ui, Face::small, ui.theme.muted, item.time_text);
    }
    draw_menu(ui, item, actions);
    ImGui::SetCursorPos(next);
    ImGui::Dummy({0, 0});
}

void ConversationsView::draw_menu(Ui& ui, const ConversationItem& item, Actions& actions) {
    push_popup_style(ui);
    if (ImGui::BeginPopup(fmt::format("menu-{}", item.id).c_str())) {
        if (menu_item(ui, "Rename##rename", Icon::edit)) {
            renaming_ = item.id;
            new_title_ = item.title;
            wants_rename_focus_ = true;
        }
        if (menu_item(ui, "Export as Markdown##export-markdown", Icon::save))
            actions.push_back(action::ExportConversation{item.id, action::ExportFormat::markdown});
        if (menu_item(ui, "Export as JSON##export-json", Icon::save))
            actions.push_back(action::ExportConversation{item.id, action::ExportFormat::json});
        if (menu_item(ui, "Delete##delete", Icon::trash)) actions.push_back(action::DeleteConversation{item.id});
        ImGui::EndPopup();
    }
    pop_popup_style();
}

void ConversationsView::draw_rename(Ui& ui, const ConversationItem& item, Actions& actions) {
    ui.loader.see(Face::body, new_title_);
    ImGui::SetNextItemWidth(ImGui::GetContentRegionAvail().x - ui.px(kSide));
    if (wants_rename_focus_) focus_field("##title");
    wants_rename_focus_ = false;
    const bool entered = ImGui::InputText("##title", &new_title_,
                                          ImGuiInputTextFlags_EnterReturnsTrue | ImGuiInputTextFlags_AutoSelectAll);
    if (!entered && !ImGui::IsItemDeactivated()) return;
    // Escape leaves the title; Enter, or a click elsewhere, takes the new one.
    const bool taken = entered || !ImGui::IsKeyPressed(ImGuiKey_Escape);
    if (taken && !new_title_.empty() && new_title_ != item.title)
        actions.push_back(action::RenameConversation{item.id, new_title_});
    renaming_ = 0;
}

void ConversationsView::draw_deleted(Ui& ui, const ConversationsState& state, Actions& actions) {
    const float width = ImGui::GetContentRegionAvail().x;
    const ImVec2 at = ImGui::GetCursorScreenPos();
    ImGui::GetWindowDrawList()->AddRectFilled({at.x + ui.px(kSide), at.y + ui.px(2)},
                                              {at.x + width - ui.px(kSide), at.y + ui.px(42)}, ui.theme.raised,
                                              ui.px(8));
    ImGui::SetCursorScreenPos({at.x + ui.px(kSide + 10), at.y + ui.px(13)});
    text_line(ui, Face::small, ui.theme.muted, "Deleted “" + clean_text(state.deleted->title) + "”",
              std::max(width - ui.px(2 * kSide + 84), ui.px(20)));
    ImGui::SetCursorScreenPos({at.x + width - ui.px(kSide + 66), at.y + ui.px(10)});
    if (button(ui, "Undo##restore", {.kind = ButtonKind::quiet, .small = true}))
        actions.push_back(action::RestoreConversation{state.deleted->id});
    ImGui::SetCursorScreenPos({at.x, at.y + ui.px(46)});
    ImGui::Dummy({0, 0});
}

}  // namespace octavo
