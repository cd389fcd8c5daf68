// Styled text broken into lines of a width, ready to draw and to find positions in.
//
// Threads: the window's (it reads the fonts).
// Non-goals: shaping and reading direction; kerning.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "ui/markdown/styled_text.h"
#include "ui/ui.h"

namespace octavo {

// A piece of one line in one style. Bytes are those of the text that was laid out.
struct TextRun {
    float x = 0;
    float width = 0;
    uint32_t begin = 0;
    uint32_t end = 0;
    Face face = Face::body;
    uint8_t style = style_plain;
    int32_t link = -1;
};

struct TextLine {
    float y = 0;  // of its upper edge
    uint32_t first_run = 0;
    uint32_t runs = 0;
    uint32_t begin = 0;  // bytes; the space or line end that it broke at is before the next begin
    uint32_t end = 0;
};

struct TextLayout {
    Face face = Face::body;       // of plain text
    std::vector<TextLine> lines;  // from top to bottom
    std::vector<TextRun> runs;
    float line_height = 0;
    float height = 0;
    float widest = 0;           // the end of the longest line
    bool lacks_glyphs = false;  // the atlas had none for some character: lay out again when it has
};

struct TextLayoutOptions {
    float width = 0;
    Face face = Face::body;  // of plain text
    bool code = false;       // spaces stay, lines break at the width wherever that is
    float spacing = 1.3f;    // line height over the face's
};

TextLayout lay_out_text(Ui& ui, const StyledText& styled, const TextLayoutOptions& options);

// Where byte `at` of the text stands on its line, from the left edge.
float x_of(Ui& ui, const StyledText& styled, const TextLayout& layout, const TextLine& line, uint32_t at);
// The byte nearest to a point, both from the layout's top left.
uint32_t byte_at(Ui& ui, const StyledText& styled, const TextLayout& layout, float x, float y);
// The run under a point; null: none.
const TextRun* run_at(const TextLayout& layout, float x, float y);

// Indices of the lines that reach into [top, bottom): first, and one after the last.
std::pair<size_t, size_t> lines_between(const TextLayout& layout, float top, float bottom);

struct TextColours {
    ImU32 text;
    ImU32 link;
    ImU32 code_surface;  // behind code within a line
};
void draw_text(Ui& ui, ImDrawList& list, const StyledText& styled, const TextLayout& layout, ImVec2 origin, float top,
               float bottom, const TextColours& colours);
// Behind bytes [begin, end), before the text is drawn.
void draw_selection(Ui& ui, ImDrawList& list, const StyledText& styled, const TextLayout& layout, ImVec2 origin,
                    float top, float bottom, uint32_t begin, uint32_t end);

}  // namespace octavo
