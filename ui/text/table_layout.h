// A table as text in columns: every cell is laid out for itself and stands in its column.
//
// Threads: the window's.
#pragma once

#include <vector>

#include "ui/markdown/markdown.h"
#include "ui/text/text_layout.h"

namespace octavo {

struct TableLayout {
    StyledText text;  // the cells with tabs between them and a line end after each row: what is copied
    TextLayout layout;
    std::vector<float> row_tops;  // of each row, and the lower edge of the last
    float width = 0;
};

// At most `width` wide; cells wrap where the columns do not fit side by side.
TableLayout lay_out_table(Ui& ui, const MarkdownBlock& table, float width);

}  // namespace octavo
