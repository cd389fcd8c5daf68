#include "ui/notices_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "ui/text/clean_text.h"
#include "ui/widgets.h"

namespace octavo {
namespace {

constexpr size_t kMostShown = 3;  // the newest

struct NoticeLook {
    Icon icon;
    ImU32 Theme::*colour;
};

// In the order of NoticeKind.
constexpr NoticeLook kLooks[] = {{Icon::info, &Theme::accent},
                                 {Icon::check, &Theme::success},
                                 {Icon::warning, &Theme::warning},
                                 {Icon::warning, &Theme::error}};

// A child that sizes itself is as tall as its content one frame later, and one around it after two: those frames are
// asked for, as nothing else may happen.
void settle_height(Ui& ui) {
    float& last = *ImGui::GetStateStorage()->GetFloatRef(ImGui::GetID("height"));
    if (last != ImGui::GetWindowHeight()) ui.draw_again_in(0);
    last = ImGui::GetWindowHeight();
}

void draw_notice(Ui& ui, const Notice& notice, ImVec2 at, float width, Actions& actions) {
    const NoticeLook& look = kLooks[static_cast<size_t>(notice.kind)];
    const std::string name = fmt::format("notice-{}", notice.id);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(ui.px(12), ui.px(10)));
    ImGui::BeginChild(name.c_str(), {width, 0}, ImGuiChildFlags_AutoResizeY | ImGuiChildFlags_AlwaysUseWindowPadding,
                      ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse);
    ImGui::PopStyleVar();
    const ImVec2 low = ImGui::GetWindowPos();
    const ImVec2 high(low.x + ImGui::GetWindowSize().x, low.y + ImGui::GetWindowSize().y);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.PushClipRect(low, high, false);  // the edge too
    list.AddRectFilled(low, high, ui.theme.raised, ui.px(10));
    list.AddRect(low, high, mix(ui.theme.border, ui.theme.*look.colour, 0.35f), ui.px(10));
    list.PopClipRect();
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    draw_icon(list, look.icon, corner, ui.px(20), ui.theme.*look.colour);
    ImGui::SetCursorScreenPos({corner.x + ui.px(30), corner.y + ui.px(1)});
    ImGui::BeginChild("words", {width - ui.px(84), 0}, ImGuiChildFlags_AutoResizeY);
    text_block(ui, Face::body, ui.theme.text, clean_text(notice.text));
    for (size_t i = 0; i < notice.buttons.size(); ++i) {
        if (i == 0) space(ui, 6);
        const std::string label = fmt::format("{}##notice-{}-{}", notice.buttons[i].label, notice.id, i);
        const ImVec2 size = text_size(ui, Face::small, notice.buttons[i].label);
        if (i > 0) ImGui::SameLine(0, ui.px(6));
        if (ImGui::GetContentRegionAvail().x < size.x + ui.px(20)) ImGui::NewLine();
        if (button(ui, label.c_str(), {.small = true})) actions.push_back(notice.buttons[i].action);
    }
    settle_height(ui);
    ImGui::EndChild();
    ImGui::SetCursorScreenPos({at.x + width - ui.px(34), corner.y - ui.px(3)});
    const std::string dismiss = fmt::format("##dismiss-{}", notice.id);
    if (button(ui, dismiss.c_str(), {.kind = ButtonKind::quiet, .icon = Icon::close, .small = true, .muted = true}))
        actions.push_back(action::DismissNotice{notice.id});
    settle_height(ui);
    ImGui::EndChild();
}

}  // namespace

void draw_notices(Ui& ui, const std::vector<Notice>& notices, float width, Actions& actions) {
    const size_t first = notices.size() > kMostShown ? notices.size() - kMostShown : 0;
    for (size_t i = first; i < notices.size(); ++i) {
        draw_notice(ui, notices[i], ImGui::GetCursorScreenPos(), width, actions);
        space(ui, 8);
    }
}

}  // namespace octavo
