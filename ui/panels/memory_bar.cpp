#include "ui/panels/memory_bar.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "ui/number_text.h"
#include "ui/widgets.h"

namespace octavo {
namespace {

constexpr float kBarHeight = 16;
constexpr float kLeastVisible = 2;  // pixels of a part that is not nothing
constexpr int kOthers = Theme::series_count - 1;

struct Part {
    std::string name;
    int64_t bytes = 0;
    ImU32 colour = 0;
};

ImU32 colour_of(const Ui& ui, int kind) { return ui.theme.series[std::clamp(kind, 0, kOthers)]; }

void draw_bar(Ui& ui, const char* id, const std::vector<Part>& parts, int64_t total) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x;
    const float height = ui.px(kBarHeight);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    ImGui::InvisibleButton(id, {std::max(width, 1.0f), height});
    const bool hovered = ImGui::IsItemHovered();
    const float mouse = ImGui::GetIO().MousePos.x;
    list.AddRectFilled(at, {at.x + width, at.y + height}, ui.theme.selected, ui.px(4));
    float x = at.x;
    for (const Part& part : parts) {
        if (part.bytes <= 0 || total <= 0) continue;
        const float share = static_cast<float>(static_cast<double>(part.bytes) / static_cast<double>(total));
        const float end = std::min(x + std::max(width * share, ui.px(kLeastVisible)), at.x + width);
        list.AddRectFilled({std::floor(x), at.y}, {std::floor(end), at.y + height}, part.colour, ui.px(2));
        if (hovered && mouse >= x && mouse < end) {
            const std::string text = part.name + ": " + format_size(part.bytes);
            tooltip(ui, text);
        }
        x = end;
    }
}

constexpr const char* kPlanned = "planned";
constexpr const char* kMeasured = "measured";

// Of a column of figures: the names get what is left.
float column_width(Ui& ui, const KvState& state, int64_t planned_total, int64_t measured_total) {
    float widest = std::max(text_size(ui, Face::small, kPlanned).x, text_size(ui, Face::small, kMeasured).x);
    const auto see = [&](int64_t bytes) {
        widest = std::max(widest, text_size(ui, Face::small, format_size(bytes)).x);
    };
    for (const MemoryLineState& line : state.plan) {
        see(line.planned_bytes);
        see(line.measured_bytes);
    }
    for (const int64_t bytes : {planned_total, measured_total, state.other_bytes}) see(bytes);
    return widest + ui.px(10);
}

// "[colour] name ..... planned   measured"
void draw_line(Ui& ui, float column, const std::string& name, ImU32 colour, const std::string& planned,
               const std::string& measured) {
    const float start = ImGui::GetCursorPosX();
    const float width = ImGui::GetContentRegionAvail().x;
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float line = ui.font(Face::small)->FontSize;
    const float square = ui.px(9);
    if (colour != 0)
        ImGui::GetWindowDrawList()->AddRectFilled({at.x, at.y + (line - square) / 2},
                                                  {at.x + square, at.y + (line + square) / 2}, colour, ui.px(2));
    ImGui::SetCursorPosX(start + ui.px(16));
    const float room = std::max(width - 2 * column - ui.px(16), ui.px(30));
    text_line(ui, Face::small, ui.theme.text, name, room);
    if (text_size(ui, Face::small, name).x > room) tooltip(ui, name);
    for (int i = 0; i < 2; ++i) {
        const std::string& value = i == 0 ? planned : measured;
        const float end = start + width - (i == 0 ? column : 0);
        ImGui::SameLine(0, 0);
        ImGui::SetCursorPosX(end - text_size(ui, Face::small, value).x);
        text_line(ui, Face::small, i == 0 ? ui.theme.muted : ui.theme.text, value);
    }
}

}  // namespace

void draw_memory(Ui& ui, const KvState& state) {
    std::vector<Part> measured;
    std::vector<Part> planned;
    int64_t planned_total = 0;
    int64_t measured_total = 0;
    for (const MemoryLineState& line : state.plan) {
        measured.push_back({line.name + ", now", line.measured_bytes, colour_of(ui, line.kind)});
        planned.push_back({line.name + ", with the context full", line.planned_bytes, colour_of(ui, line.kind)});
        planned_total += line.planned_bytes;
        measured_total += line.measured_bytes;
    }
    if (state.memory_total_bytes > 0) {
        const std::string free = format_size(state.memory_free_bytes) + " of " + format_size(state.memory_total_bytes);
        figure_row(ui, "Free " + state.memory_name, free);
        draw_bar(ui, "##memory",
                 {{"Other programs", state.other_bytes, colour_of(ui, kOthers)},
                  {"This program", measured_total, ui.theme.accent}},
                 state.memory_total_bytes);
    }
    const int64_t longer = std::max(planned_total, measured_total);
    figure_row(ui, "Now", format_size(measured_total));
    draw_bar(ui, "##memory-measured", measured, longer);
    figure_row(ui, "With the context full", format_size(planned_total));
    draw_bar(ui, "##memory-planned", planned, longer);
    space(ui, 2);
    const float column = column_width(ui, state, planned_total, measured_total);
    draw_line(ui, column, "", 0, kPlanned, kMeasured);
    for (const MemoryLineState& line : state.plan)
        draw_line(ui, column, line.name, colour_of(ui, line.kind), format_size(line.planned_bytes),
                  format_size(line.measured_bytes));
    draw_line(ui, column, "Together", 0, format_size(planned_total), format_size(measured_total));
    if (state.other_bytes > 0)
        draw_line(ui, column, "Other programs", colour_of(ui, kOthers), "", format_size(state.other_bytes));
}

}  // namespace octavo
