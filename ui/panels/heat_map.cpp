#include "ui/panels/heat_map.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "ui/number_text.h"
#include "ui/widgets.h"

namespace octavo {
namespace {

constexpr float kLabelWidth = 44;
constexpr float kRowHeight = 26;

template <class Key>
std::vector<Key> sorted_keys(const std::vector<RecallCellView>& cells, Key RecallCellView::*key) {
    std::vector<Key> keys;
    for (const RecallCellView& cell : cells) keys.push_back(cell.*key);
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    return keys;
}

int find_cell(const RecallSchemeView& scheme, int64_t length, int depth) {
    for (size_t i = 0; i < scheme.cells.size(); ++i)
        if (scheme.cells[i].length_tokens == length && scheme.cells[i].depth_percent == depth)
            return static_cast<int>(i);
    return -1;
}

ImU32 share_colour(const Theme& theme, double share) {
    const auto part = static_cast<float>(share);
    return part < 0.5f ? mix(theme.error, theme.warning, part * 2) : mix(theme.warning, theme.success, part * 2 - 1);
}

void write_centred(Ui& ui, ImVec2 at, ImVec2 size, ImU32 colour, const std::string& text) {
    ImFont* font = ui.font(Face::small);
    const ImVec2 words = text_size(ui, Face::small, text);
    ImGui::GetWindowDrawList()->AddText(
        font, font->FontSize, {std::floor(at.x + (size.x - words.x) / 2), std::floor(at.y + (size.y - words.y) / 2)},
        colour, text.c_str());
}

bool draw_cell(Ui& ui, const RecallCellView& cell, ImVec2 at, ImVec2 size, bool chosen) {
    ImGui::SetCursorScreenPos(at);
    const std::string id = fmt::format("##cell-{}-{}", cell.length_tokens, cell.depth_percent);
    const bool clicked = ImGui::InvisibleButton(id.c_str(), size);
    const double share = cell.n > 0 ? static_cast<double>(cell.correct) / static_cast<double>(cell.n) : 0;
    const ImVec2 end(at.x + size.x - ui.px(2), at.y + size.y - ui.px(2));
    const ImU32 colour = share_colour(ui.theme, share);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddRectFilled(at, end, cell.n > 0 ? with_alpha(colour, 0.35f) : ui.theme.selected, ui.px(3));
    if (chosen || ImGui::IsItemHovered() || ImGui::IsItemFocused())
        list.AddRect(at, end, ui.theme.text, ui.px(3), 0, chosen ? ui.px(2) : 1.0f);
    // Figures as well as colours: not everybody tells red from green.
    write_centred(ui, at, {end.x - at.x, end.y - at.y}, ui.theme.text, fmt::format("{}/{}", cell.correct, cell.n));
    const std::string hint = fmt::format("{} of {} right at {}% of {} tokens; 95% interval {:.0f} to {:.0f}%",
                                         cell.correct, cell.n, cell.depth_percent, format_count(cell.length_tokens),
                                         100 * cell.wilson_low, 100 * cell.wilson_high);
    tooltip(ui, hint);
    return clicked;
}

}  // namespace

int draw_heat_map(Ui& ui, const RecallSchemeView& scheme, int chosen) {
    const std::vector<int64_t> lengths = sorted_keys(scheme.cells, &RecallCellView::length_tokens);
    const std::vector<int> depths = sorted_keys(scheme.cells, &RecallCellView::depth_percent);
    if (depths.empty()) return -1;
    const ImVec2 origin = ImGui::GetCursorScreenPos();
    const float label = ui.px(kLabelWidth);
    const float height = ui.px(kRowHeight);
    const float width = (ImGui::GetContentRegionAvail().x - label) / static_cast<float>(depths.size());
    int clicked = -1;
    for (size_t column = 0; column < depths.size(); ++column)
        write_centred(ui, {origin.x + label + width * static_cast<float>(column), origin.y}, {width, height * 0.8f},
                      ui.theme.muted, fmt::format("{}%", depths[column]));
    for (size_t row = 0; row < lengths.size(); ++row) {
        const float y = origin.y + height * (0.8f + static_cast<float>(row));
        write_centred(ui, {origin.x, y}, {label, height}, ui.theme.muted, format_tokens(lengths[row]));
        for (size_t column = 0; column < depths.size(); ++column) {
            const int index = find_cell(scheme, lengths[row], depths[column]);
            if (index < 0) continue;
            const ImVec2 at(origin.x + label + width * static_cast<float>(column), y);
            if (draw_cell(ui, scheme.cells[static_cast<size_t>(index)], at, {width, height}, index == chosen))
                clicked = index;
        }
    }
    ImGui::SetCursorScreenPos(origin);
    ImGui::Dummy(
        {label + width * static_cast<float>(depths.size()), height * (0.8f + static_cast<float>(lengths.size()))});
    return clicked;
}

}  // namespace octavo
