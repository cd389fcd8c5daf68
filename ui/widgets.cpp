#include "ui/widgets.h"

#include <imgui_internal.h>

#include <algorithm>
#include <cmath>

#include "ui/text/text_layout.h"

namespace octavo {
namespace {

std::string_view visible_part(const char* label) {
    const std::string_view whole(label);
    return whole.substr(0, whole.find("##"));
}

struct ButtonColours {
    ImU32 surface, hovered, pressed, text, border;
};

ButtonColours button_colours(const Theme& theme, const ButtonLook& look) {
    const ImU32 none = with_alpha(theme.hover, 0);
    ButtonColours colours;
    switch (look.kind) {
        case ButtonKind::primary:
            colours = {theme.accent_fill, mix(theme.accent_fill, theme.text, 0.12f),
                       mix(theme.accent_fill, theme.text, 0.2f), theme.on_accent, none};
            break;
        case ButtonKind::quiet: colours = {none, theme.hover, theme.selected, theme.text, none}; break;
        case ButtonKind::danger: colours = {none, theme.hover, theme.selected, theme.error, theme.border}; break;
        default: colours = {theme.raised, theme.hover, theme.selected, theme.text, theme.border};
    }
    if (look.selected) {
        colours.surface = theme.selection;
        colours.border = theme.accent;
    }
    return colours;
}

// How much of the text fits into `width` together with an ellipsis.
std::string cut_to_width(ImFont* font, std::string_view text, float width) {
    const float ellipsis = font->CalcTextSizeA(font->FontSize, FLT_MAX, 0, "…").x;
    const char* rest = nullptr;
    font->CalcTextSizeA(font->FontSize, std::max(width - ellipsis, 0.0f), 0, text.data(), text.data() + text.size(),
                        &rest);
    return std::string(text.data(), rest) + "…";
}

}  // namespace

ImVec2 text_size(Ui& ui, Face face, std::string_view text) {
    ui.loader.see(face, text);
    ImFont* font = ui.font(face);
    return font->CalcTextSizeA(font->FontSize, FLT_MAX, 0, text.data(), text.data() + text.size());
}

void text_line(Ui& ui, Face face, ImU32 colour, std::string_view text, float width) {
    ImFont* font = ui.font(face);
    std::string line(text.substr(0, std::min(text.find('\n'), text.size())));
    ImVec2 size = text_size(ui, face, line);
    if (width > 0 && size.x > width) {
        line = cut_to_width(font, line, width);
        size.x = width;
    }
    const ImVec2 at = ImGui::GetCursorScreenPos();
    ImGui::GetWindowDrawList()->AddText(font, font->FontSize, {std::floor(at.x), std::floor(at.y)}, colour, line.data(),
                                        line.data() + line.size());
    ImGui::Dummy(size);
}

void text_block(Ui& ui, Face face, ImU32 colour, std::string_view text) {
    StyledText styled;
    styled.append(text, style_plain);
    const float width = std::max(ImGui::GetContentRegionAvail().x, ui.px(20));
    const TextLayout layout = lay_out_text(ui, styled, {.width = width, .face = face, .spacing = 1.22f});
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const ImVec2 corner(std::floor(at.x), std::floor(at.y));
    draw_text(ui, *ImGui::GetWindowDrawList(), styled, layout, corner, at.y, at.y + layout.height, {colour, colour, 0});
    ImGui::Dummy({width, layout.height});
}

bool button(Ui& ui, const char* label, const ButtonLook& look) {
    const std::string_view text = visible_part(label);
    const Face face = look.small ? Face::small : Face::body;
    const ImVec2 words = text_size(ui, face, text);
    const float icon = look.icon == Icon::none ? 0 : ui.px(look.small ? 15 : 18);
    const float gap = icon > 0 && !text.empty() ? ui.px(6) : 0;
    const float side = text.empty() ? ui.px(look.small ? 4 : 6) : ui.px(look.small ? 8 : 12);
    const float height = ui.px(look.small ? 24 : 30);
    const float content = icon + gap + words.x;
    float width = look.width == 0 ? std::max(content + 2 * side, height) : look.width;
    if (width < 0) width = std::max(ImGui::GetContentRegionAvail().x, height);

    ImGui::BeginDisabled(!look.enabled);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const bool clicked = ImGui::InvisibleButton(label, {width, height});
    const ImGuiID id = ImGui::GetItemID();
    const ImVec2 end(at.x + width, at.y + height);
    const ButtonColours colours = button_colours(ui.theme, look);
    const float fade = look.enabled ? 1.0f : 0.45f;
    const ImU32 surface = ImGui::IsItemActive()    ? colours.pressed
                          : ImGui::IsItemHovered() ? colours.hovered
                                                   : colours.surface;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddRectFilled(at, end, with_alpha(surface, fade), ui.px(6));
    list.AddRect(at, end, with_alpha(colours.border, fade), ui.px(6));
    ImGui::RenderNavHighlight({at, end}, id);

    ImVec2 pen(at.x + std::max((width - content) / 2, ui.px(2)), at.y + (height - icon) / 2);
    const bool muted = look.muted && !ImGui::IsItemHovered();
    const ImU32 ink = with_alpha(muted ? ui.theme.muted : colours.text, fade);
    draw_icon(list, look.icon, pen, icon, ink);
    pen = {std::floor(pen.x + icon + gap), std::floor(at.y + (height - words.y) / 2)};
    list.PushClipRect(at, end, true);
    list.AddText(ui.font(face), ui.font(face)->FontSize, pen, ink, text.data(), text.data() + text.size());
    list.PopClipRect();
    ImGui::EndDisabled();
    if (look.tooltip != nullptr) tooltip(ui, look.tooltip);
    return clicked;
}

void section(Ui& ui, const char* title) {
    space(ui, 10);
    text_line(ui, Face::strong, ui.theme.text, title);
    space(ui, 2);
}

void figure_row(Ui& ui, std::string_view name, std::string_view value) {
    const float width = ImGui::GetContentRegionAvail().x;
    const float start = ImGui::GetCursorPosX();
    const float name_width = std::min(text_size(ui, Face::body, name).x, width * 0.6f);
    const float value_width = std::min(text_size(ui, Face::body, value).x, width - name_width - ui.px(8));
    text_line(ui, Face::body, ui.theme.muted, name, name_width + 1);
    ImGui::SameLine(0, 0);
    ImGui::SetCursorPosX(start + width - value_width);
    text_line(ui, Face::body, ui.theme.text, value, value_width + 1);
}

void progress_bar(Ui& ui, double share, float height) {
    const float width = ImGui::GetContentRegionAvail().x;
    const float thick = ui.px(height);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddRectFilled(at, {at.x + width, at.y + thick}, ui.theme.selected, thick / 2);
    const float filled = share < 0 ? 0 : width * static_cast<float>(std::min(share, 1.0));
    if (filled >= thick) list.AddRectFilled(at, {at.x + filled, at.y + thick}, ui.theme.accent, thick / 2);
    ImGui::Dummy({width, thick});
}

void space(Ui& ui, float height) { ImGui::Dummy({0, ui.px(height)}); }

void hairline(Ui& ui) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x;
    ImGui::GetWindowDrawList()->AddRectFilled(at, {at.x + width, at.y + 1}, ui.theme.border);
    ImGui::Dummy({width, 1});
}

int segments(Ui& ui, const char* const* names, int count, int chosen) {
    const float width = ImGui::GetContentRegionAvail().x;
    const float height = ui.px(30);
    const float part = std::floor(width / static_cast<float>(count));
    const ImVec2 origin = ImGui::GetCursorScreenPos();
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddRectFilled(origin, {origin.x + part * static_cast<float>(count), origin.y + height}, ui.theme.hover,
                       ui.px(7));
    int clicked = -1;
    for (int i = 0; i < count; ++i) {
        const ImVec2 at(origin.x + part * static_cast<float>(i), origin.y);
        const ImVec2 end(at.x + part, at.y + height);
        ImGui::SetCursorScreenPos(at);
        if (ImGui::InvisibleButton(names[i], {part, height})) clicked = i;
        const float inset = ui.px(2);
        if (i == chosen)
            list.AddRectFilled({at.x + inset, at.y + inset}, {end.x - inset, end.y - inset}, ui.theme.selection,
                               ui.px(6));
        ImGui::RenderNavHighlight({at, end}, ImGui::GetItemID());
        const std::string_view text = visible_part(names[i]);
        const ImVec2 size = text_size(ui, Face::body, text);
        const ImU32 colour = i == chosen || ImGui::IsItemHovered() ? ui.theme.text : ui.theme.muted;
        list.PushClipRect(at, end, true);
        list.AddText(ui.font(Face::body), ui.font(Face::body)->FontSize,
                     {std::floor(at.x + (part - size.x) / 2), std::floor(at.y + (height - size.y) / 2)}, colour,
                     text.data(), text.data() + text.size());
        list.PopClipRect();
        if (size.x > part - ui.px(6)) tooltip(ui, text);
    }
    return clicked;
}

void focus_field(const char* label) {
    ImGui::ActivateItemByID(ImGui::GetID(label));
    ImGui::GetCurrentContext()->NavNextActivateFlags = ImGuiActivateFlags_PreferInput;
}

void tooltip(Ui& ui, std::string_view text) {
    if (!ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip | ImGuiHoveredFlags_AllowWhenDisabled)) return;
    push_popup_style(ui);
    if (ImGui::BeginTooltip()) {
        ImGui::PushTextWrapPos(ui.px(320));
        ui.loader.see(Face::small, text);
        ImGui::PushFont(ui.font(Face::small));
        ImGui::TextUnformatted(text.data(), text.data() + text.size());
        ImGui::PopFont();
        ImGui::PopTextWrapPos();
        ImGui::EndTooltip();
    }
    pop_popup_style();
}

void push_popup_style(Ui& ui) {
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(ui.px(8), ui.px(8)));
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(ui.px(8), ui.px(2)));
}

void pop_popup_style() { ImGui::PopStyleVar(2); }

bool menu_item(Ui& ui, const char* label, Icon icon, const char* shortcut, bool enabled) {
    const std::string_view text = visible_part(label);
    const float text_width = text_size(ui, Face::body, text).x;
    const float shortcut_width = shortcut == nullptr ? 0 : text_size(ui, Face::small, shortcut).x + ui.px(24);
    const float width = std::max(ui.px(36) + text_width + shortcut_width + ui.px(8), ImGui::GetContentRegionAvail().x);
    const float height = ui.px(28);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    ImGui::BeginDisabled(!enabled);
    const bool clicked = ImGui::InvisibleButton(label, {width, height});
    ImGui::EndDisabled();
    ImDrawList& list = *ImGui::GetWindowDrawList();
    if (ImGui::IsItemHovered() || ImGui::IsItemFocused())
        list.AddRectFilled(at, {at.x + width, at.y + height}, ui.theme.hover, ui.px(5));
    const float fade = enabled ? 1.0f : 0.45f;
    const ImU32 ink = with_alpha(ui.theme.text, fade);
    draw_icon(list, icon, {at.x + ui.px(6), at.y + ui.px(6)}, ui.px(16), with_alpha(ui.theme.muted, fade));
    ImFont* font = ui.font(Face::body);
    list.AddText(font, font->FontSize, {std::floor(at.x + ui.px(30)), std::floor(at.y + (height - font->FontSize) / 2)},
                 ink, text.data(), text.data() + text.size());
    if (shortcut != nullptr) {
        ImFont* small = ui.font(Face::small);
        list.AddText(
            small, small->FontSize,
            {std::floor(at.x + width - shortcut_width + ui.px(16)), std::floor(at.y + (height - small->FontSize) / 2)},
            with_alpha(ui.theme.muted, fade), shortcut);
    }
    if (clicked) ImGui::CloseCurrentPopup();
    return clicked;
}

}  // namespace octavo
