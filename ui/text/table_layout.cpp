#include "ui/text/table_layout.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace octavo {
namespace {

constexpr float kSpacing = 1.55f;  // line height over the face's: rows need air
constexpr float kGap = 24;         // between columns
constexpr float kNarrowest = 40;   // column, when there is not room for all

StyledText in_strong(const StyledText& cell) {
    StyledText strong = cell;
    for (TextSpan& span : strong.spans) span.style |= style_strong;
    return strong;
}

// Shares out `room` among columns that want more than there is: the modest ones get what they want.
std::vector<float> fit_columns(std::vector<float> wanted, float room, float narrowest) {
    std::vector<float> widths(wanted.size(), 0);
    std::vector<size_t> order(wanted.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return wanted[a] < wanted[b]; });
    for (size_t i = 0; i < order.size(); ++i) {
        const float fair = room / static_cast<float>(order.size() - i);
        widths[order[i]] = std::max(std::min(wanted[order[i]], fair), narrowest);
        room = std::max(room - widths[order[i]], 0.0f);
    }
    return widths;
}

float align_shift(CellAlign align, float column, float line) {
    if (align == CellAlign::left) return 0;
    return align == CellAlign::right ? column - line : std::floor((column - line) / 2);
}

}  // namespace

TableLayout lay_out_table(Ui& ui, const MarkdownBlock& table, float width) {
    const size_t columns = table.aligns.size();
    const size_t rows = table.cells.size() / columns;
    const float gap = ui.px(kGap);
    std::vector<StyledText> cells = table.cells;
    for (size_t c = 0; c < columns; ++c) cells[c] = in_strong(cells[c]);

    const auto cell_layout = [&](const StyledText& cell, float cell_width) {
        return lay_out_text(ui, cell, {.width = cell_width, .spacing = kSpacing});
    };
    std::vector<float> wanted(columns, 0);
    for (size_t i = 0; i < cells.size(); ++i)
        wanted[i % columns] =
            std::max(wanted[i % columns], cell_layout(cells[i], std::numeric_limits<float>::max()).widest + 1);
    const float room = width - gap * static_cast<float>(columns - 1);
    const std::vector<float> widths = fit_columns(wanted, room, ui.px(kNarrowest));

    TableLayout result;
    TextLayout& merged = result.layout;
    for (size_t row = 0; row < rows; ++row) {
        std::vector<TextLayout> parts;
        std::vector<uint32_t> starts;
        size_t lines = 1;
        for (size_t c = 0; c < columns; ++c) {
            const StyledText& cell = cells[row * columns + c];
            parts.push_back(cell_layout(cell, widths[c]));
            starts.push_back(static_cast<uint32_t>(result.text.text.size()));
            lines = std::max(lines, parts.back().lines.size());
            result.text.append(cell);
            result.text.append(c + 1 < columns ? "\t" : "\n", style_plain);
        }
        merged.line_height = parts[0].line_height;
        result.row_tops.push_back(static_cast<float>(merged.lines.size()) * merged.line_height);
        for (size_t l = 0; l < lines; ++l) {
            TextLine line{.y = static_cast<float>(merged.lines.size()) * merged.line_height,
                          .first_run = static_cast<uint32_t>(merged.runs.size()),
                          .begin = std::numeric_limits<uint32_t>::max()};
            float x = 0;
            for (size_t c = 0; c < columns; ++c) {
                merged.lacks_glyphs |= parts[c].lacks_glyphs;
                if (l < parts[c].lines.size()) {
                    const TextLine& part = parts[c].lines[l];
                    const TextRun* runs = parts[c].runs.data() + part.first_run;
                    const float end = part.runs == 0 ? 0 : runs[part.runs - 1].x + runs[part.runs - 1].width;
                    const float shift = x + align_shift(table.aligns[c], widths[c], end);
                    for (uint32_t r = 0; r < part.runs; ++r) {
                        TextRun run = runs[r];
                        run.x += shift;
                        run.begin += starts[c];
                        run.end += starts[c];
                        merged.runs.push_back(run);
                    }
                    line.begin = std::min(line.begin, starts[c] + part.begin);
                    line.end = std::max(line.end, starts[c] + part.end);
                }
                x += widths[c] + gap;
            }
            line.runs = static_cast<uint32_t>(merged.runs.size()) - line.first_run;
            merged.lines.push_back(line);
        }
    }
    merged.height = static_cast<float>(merged.lines.size()) * merged.line_height;
    result.row_tops.push_back(merged.height);
    for (const float column : widths) result.width += column;
    result.width += gap * static_cast<float>(columns - 1);
    merged.widest = result.width;
    return result;
}

}  // namespace octavo
