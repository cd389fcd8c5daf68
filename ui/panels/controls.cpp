#include "ui/panels/controls.h"

#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <cmath>

#include "ui/widgets.h"

namespace octavo {
namespace {

constexpr float kTrackHeight = 18;
constexpr ImGuiSliderFlags kSlider = ImGuiSliderFlags_AlwaysClamp | ImGuiSliderFlags_NoRoundToFormat;

// Frames are drawn on the panel, whose fields would vanish on it without a border.
void push_field(Ui& ui) {
    ImGui::PushStyleVar(ImGuiStyleVar_FrameBorderSize, 1.0f);
    ImGui::PushStyleColor(ImGuiCol_FrameBg, ui.theme.background);
}
void pop_field() {
    ImGui::PopStyleColor();
    ImGui::PopStyleVar();
}

void push_track(Ui& ui) {
    const float padding = std::max((ui.px(kTrackHeight) - ImGui::GetFontSize()) / 2, 0.0f);
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ImVec2(ui.px(6), padding));
    ImGui::PushStyleVar(ImGuiStyleVar_FrameRounding, ui.px(kTrackHeight / 2));
    ImGui::PushStyleVar(ImGuiStyleVar_GrabRounding, ui.px(kTrackHeight / 2));
    ImGui::PushStyleColor(ImGuiCol_FrameBg, ui.theme.selected);
    ImGui::SetNextItemWidth(-1);
}
void pop_track() {
    ImGui::PopStyleColor();
    ImGui::PopStyleVar(3);
}

}  // namespace

bool slider_row(Ui& ui, const SliderRow& row, int64_t& value, int64_t least, int64_t most, int64_t step) {
    figure_row(ui, row.name, row.value);
    push_track(ui);
    int64_t moved = value;
    const ImGuiSliderFlags flags = kSlider | (row.logarithmic ? ImGuiSliderFlags_Logarithmic : 0);
    const bool changed = ImGui::SliderScalar(row.id, ImGuiDataType_S64, &moved, &least, &most, "", flags);
    pop_track();
    if (row.tooltip != nullptr) tooltip(ui, row.tooltip);
    if (!changed) return false;
    // Whole steps, but both ends can be reached.
    if (moved != most && moved != least) moved = std::clamp((moved + step / 2) / step * step, least, most);
    if (moved == value) return false;
    value = moved;
    return true;
}

bool slider_row(Ui& ui, const SliderRow& row, float& value, float least, float most) {
    figure_row(ui, row.name, row.value);
    push_track(ui);
    float moved = value;
    const bool changed = ImGui::SliderFloat(row.id, &moved, least, most, "", kSlider);
    pop_track();
    if (row.tooltip != nullptr) tooltip(ui, row.tooltip);
    if (!changed) return false;
    moved = std::round(moved * 100) / 100;
    if (moved == value) return false;
    value = moved;
    return true;
}

bool text_field(Ui& ui, const char* id, std::string& text, const char* hint) {
    ui.loader.see(Face::body, text);
    push_field(ui);
    ImGui::SetNextItemWidth(-1);
    const bool entered = ImGui::InputTextWithHint(id, hint, &text, ImGuiInputTextFlags_EnterReturnsTrue);
    const bool left = ImGui::IsItemDeactivatedAfterEdit();
    pop_field();
    return entered || left;
}

bool text_area(Ui& ui, const char* id, std::string& text, float height) {
    ui.loader.see(Face::body, text);
    push_field(ui);
    ImGui::InputTextMultiline(id, &text, {-1, ui.px(height)});
    const bool left = ImGui::IsItemDeactivatedAfterEdit();
    pop_field();
    return left;
}

bool drop_down(Ui& ui, const char* id, std::string_view chosen) {
    const float width = std::max(ImGui::GetContentRegionAvail().x, ui.px(40));
    const float height = ui.px(32);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const bool clicked = ImGui::InvisibleButton(id, {width, height});
    const ImVec2 end(at.x + width, at.y + height);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddRectFilled(at, end, ImGui::IsItemHovered() ? ui.theme.hover : ui.theme.background, ui.px(6));
    list.AddRect(at, end, ImGui::IsItemFocused() ? ui.theme.accent : ui.theme.border, ui.px(6));
    ui.loader.see(Face::body, chosen);
    ImFont* font = ui.font(Face::body);
    list.PushClipRect(at, {end.x - height, end.y}, true);
    list.AddText(font, font->FontSize, {std::floor(at.x + ui.px(10)), std::floor(at.y + (height - font->FontSize) / 2)},
                 ui.theme.text, chosen.data(), chosen.data() + chosen.size());
    list.PopClipRect();
    draw_icon(list, Icon::down, {end.x - ui.px(26), at.y + ui.px(8)}, ui.px(16), ui.theme.muted);
    return clicked;
}

bool list_row(Ui& ui, const char* label, const ListRow& row) {
    const std::string_view whole(label);
    const std::string_view name = whole.substr(0, whole.find("##"));
    const float width = std::max(ImGui::GetContentRegionAvail().x, ui.px(40));
    const float height = ui.px(26);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    ImGui::BeginDisabled(!row.enabled);
    const bool clicked = ImGui::InvisibleButton(label, {width, height});
    ImGui::EndDisabled();
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const bool lit = ImGui::IsItemHovered() || ImGui::IsItemFocused();
    if (row.chosen || lit)
        list.AddRectFilled(at, {at.x + width, at.y + height}, row.chosen ? ui.theme.selected : ui.theme.hover,
                           ui.px(4));
    const float fade = row.enabled ? 1.0f : 0.45f;
    draw_icon(list, row.icon, {at.x + ui.px(4), at.y + ui.px(5)}, ui.px(16), with_alpha(ui.theme.muted, fade));
    ImFont* font = ui.font(Face::body);
    ImFont* small = ui.font(Face::small);
    const float figure = text_size(ui, Face::small, row.figure).x;
    const float name_width = text_size(ui, Face::body, name).x;
    const float left = at.x + ui.px(row.icon == Icon::none ? 8 : 26);
    const float right = at.x + width - figure - ui.px(16);
    list.PushClipRect(at, {right, at.y + height}, true);
    list.AddText(font, font->FontSize, {std::floor(left), std::floor(at.y + (height - font->FontSize) / 2)},
                 with_alpha(ui.theme.text, fade), name.data(), name.data() + name.size());
    list.PopClipRect();
    list.AddText(small, small->FontSize,
                 {std::floor(at.x + width - figure - ui.px(8)), std::floor(at.y + (height - small->FontSize) / 2)},
                 with_alpha(ui.theme.muted, fade), row.figure.data(), row.figure.data() + row.figure.size());
    if (row.tooltip != nullptr)
        tooltip(ui, row.tooltip);
    else if (name_width > right - left)
        tooltip(ui, name);
    return clicked;
}

void dot(Ui& ui, ImU32 colour) {
    const float size = ui.px(8);
    const float line = ImGui::GetFontSize();
    const ImVec2 at = ImGui::GetCursorScreenPos();
    ImGui::GetWindowDrawList()->AddCircleFilled({at.x + size / 2, at.y + line / 2}, size / 2, colour);
    ImGui::Dummy({size, line});
}

}  // namespace octavo
