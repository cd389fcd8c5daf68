#include "ui/theme.h"

#include <cmath>
#include <initializer_list>

namespace octavo {
namespace {

constexpr ImU32 rgb(unsigned hex) { return IM_COL32((hex >> 16) & 255, (hex >> 8) & 255, hex & 255, 255); }

// Paper and ink, and the same by lamplight.
constexpr Theme kLight = {
    .background = rgb(0xFDFCFA),
    .panel = rgb(0xF4F2EE),
    .raised = rgb(0xFFFFFF),
    .said = rgb(0xF0EDE7),
    .hover = rgb(0xEAE7E1),
    .selected = rgb(0xE2DED6),
    .border = rgb(0xDFDBD3),
    .text = rgb(0x24231F),
    .muted = rgb(0x6A675F),
    .accent = rgb(0x1F6B66),
    .accent_fill = rgb(0x1F6B66),
    .on_accent = rgb(0xFFFFFF),
    .success = rgb(0x2C6E3F),
    .warning = rgb(0x8A5A00),
    .error = rgb(0xB3372B),
    .selection = rgb(0xBFE0DC),
    .code = rgb(0xF4F1EB),
    .keyword = rgb(0x7A3E8E),
    .string = rgb(0x2C6E3F),
    .comment = rgb(0x6A675F),
    .shadow = IM_COL32(60, 50, 30, 36),
    .series = {rgb(0x4E7FA8), rgb(0x2F8F86), rgb(0x8CB36B), rgb(0xC7963B), rgb(0xA66A8C), rgb(0x7A74B3), rgb(0xB9B4A8)},
};

constexpr Theme kDark = {
    .background = rgb(0x1B1C1E),
    .panel = rgb(0x151617),
    .raised = rgb(0x26272A),
    .said = rgb(0x28292C),
    .hover = rgb(0x2C2D31),
    .selected = rgb(0x33353A),
    .border = rgb(0x33353A),
    .text = rgb(0xE7E5E0),
    .muted = rgb(0xA09D96),
    .accent = rgb(0x6CC0B6),
    .accent_fill = rgb(0x2F8078),
    .on_accent = rgb(0xFFFFFF),
    .success = rgb(0x79BF87),
    .warning = rgb(0xDBA84B),
    .error = rgb(0xEC8274),
    .selection = rgb(0x2B5551),
    .code = rgb(0x141516),
    .keyword = rgb(0xC79BDB),
    .string = rgb(0x9CC58E),
    .comment = rgb(0x8F8C86),
    .shadow = IM_COL32(0, 0, 0, 90),
    .series = {rgb(0x5E8FBA), rgb(0x45A89E), rgb(0x93BA72), rgb(0xD0A24C), rgb(0xB57C9C), rgb(0x8A84C4), rgb(0x5A5C60)},
};

ImVec4 to_vec(ImU32 colour) { return ImGui::ColorConvertU32ToFloat4(colour); }

}  // namespace

const Theme& theme_colours(ThemeChoice choice) { return choice == ThemeChoice::light ? kLight : kDark; }

ImU32 with_alpha(ImU32 colour, float alpha) {
    const auto scaled = static_cast<ImU32>(std::lround(static_cast<float>(colour >> IM_COL32_A_SHIFT) * alpha));
    return (colour & ~IM_COL32_A_MASK) | (scaled << IM_COL32_A_SHIFT);
}

ImU32 mix(ImU32 from, ImU32 to, float share) {
    ImU32 mixed = 0;
    for (const int shift : {0, 8, 16, 24}) {
        const auto a = static_cast<float>((from >> shift) & 255);
        const auto b = static_cast<float>((to >> shift) & 255);
        mixed |= static_cast<ImU32>(std::lround(a + (b - a) * share)) << shift;
    }
    return mixed;
}

void apply_theme(const Theme& theme, float scale) {
    ImGuiStyle style;
    style.WindowPadding = {0, 0};
    style.FramePadding = {10, 6};
    style.CellPadding = {6, 4};
    style.ItemSpacing = {8, 8};
    style.ItemInnerSpacing = {6, 6};
    style.IndentSpacing = 16;
    style.ScrollbarSize = 10;
    style.GrabMinSize = 14;
    style.WindowBorderSize = 0;
    style.ChildBorderSize = 0;
    style.PopupBorderSize = 1;
    style.FrameBorderSize = 0;
    style.WindowRounding = 0;
    style.ChildRounding = 8;
    style.PopupRounding = 8;
    style.FrameRounding = 6;
    style.ScrollbarRounding = 6;
    style.GrabRounding = 5;
    style.TabRounding = 6;
    style.SeparatorTextBorderSize = 1;
    style.DisabledAlpha = 0.45f;
    // The geometry alone makes lines smooth, whoever draws them.
    style.AntiAliasedLinesUseTex = false;
    style.ScaleAllSizes(scale);
    style.PopupBorderSize = 1;

    const auto set = [&style](ImGuiCol slot, ImU32 colour) { style.Colors[slot] = to_vec(colour); };
    for (ImVec4& colour : style.Colors) colour = to_vec(theme.border);
    set(ImGuiCol_Text, theme.text);
    set(ImGuiCol_TextDisabled, theme.muted);
    set(ImGuiCol_WindowBg, theme.background);
    set(ImGuiCol_ChildBg, with_alpha(theme.panel, 0));
    set(ImGuiCol_PopupBg, theme.raised);
    set(ImGuiCol_Border, theme.border);
    set(ImGuiCol_BorderShadow, with_alpha(theme.border, 0));
    set(ImGuiCol_FrameBg, theme.raised);
    set(ImGuiCol_FrameBgHovered, theme.hover);
    set(ImGuiCol_FrameBgActive, theme.hover);
    set(ImGuiCol_ScrollbarBg, with_alpha(theme.panel, 0));
    set(ImGuiCol_ScrollbarGrab, theme.selected);
    set(ImGuiCol_ScrollbarGrabHovered, mix(theme.selected, theme.muted, 0.3f));
    set(ImGuiCol_ScrollbarGrabActive, mix(theme.selected, theme.muted, 0.5f));
    set(ImGuiCol_CheckMark, theme.accent);
    set(ImGuiCol_SliderGrab, theme.accent);
    set(ImGuiCol_SliderGrabActive, theme.accent);
    set(ImGuiCol_Button, theme.raised);
    set(ImGuiCol_ButtonHovered, theme.hover);
    set(ImGuiCol_ButtonActive, theme.selected);
    set(ImGuiCol_Header, theme.selected);
    set(ImGuiCol_HeaderHovered, theme.hover);
    set(ImGuiCol_HeaderActive, theme.selected);
    set(ImGuiCol_PlotHistogram, theme.accent);
    set(ImGuiCol_TableBorderLight, theme.border);
    set(ImGuiCol_TableRowBg, with_alpha(theme.panel, 0));
    set(ImGuiCol_TextSelectedBg, theme.selection);
    set(ImGuiCol_DragDropTarget, theme.accent);
    set(ImGuiCol_NavHighlight, theme.accent);
    set(ImGuiCol_ModalWindowDimBg, IM_COL32(0, 0, 0, 110));
    ImGui::GetStyle() = style;
}

}  // namespace octavo
