// Controls that several panels share: a slider under its name and value, fields for numbers and text.
//
// Names are API: tests find each by its "##id".
// Threads: the window's, inside a frame.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ui/icons.h"
#include "ui/ui.h"

namespace octavo {

// "name ......... value" and a slider across the region below. True while it moves.
struct SliderRow {
    const char* name;
    const char* id;          // "##window"
    std::string_view value;  // as a person reads it
    bool logarithmic = false;
    const char* tooltip = nullptr;
};
bool slider_row(Ui& ui, const SliderRow& row, int64_t& value, int64_t least, int64_t most, int64_t step);
bool slider_row(Ui& ui, const SliderRow& row, float& value, float least, float most);

// One line to type in across the region; true when Enter was pressed or it was left after a change.
bool text_field(Ui& ui, const char* id, std::string& text, const char* hint = "");
// Several lines; true when it was left after a change.
bool text_area(Ui& ui, const char* id, std::string& text, float height);

// What is chosen now, across the region, with a mark that there is more below; true when it is clicked. The list itself
// is a popup of the caller's.
bool drop_down(Ui& ui, const char* id, std::string_view chosen);

// A row of a list across the region: icon, name, and a figure on the right. True when it is clicked.
struct ListRow {
    Icon icon = Icon::none;
    std::string_view figure = {};
    const char* tooltip = nullptr;
    bool enabled = true;
    bool chosen = false;
};
bool list_row(Ui& ui, const char* label, const ListRow& row);

// A round mark in the colour of a class, to stand before a word.
void dot(Ui& ui, ImU32 colour);

}  // namespace octavo
