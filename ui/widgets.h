// What panels are put together from: text in our faces, buttons, rows of figures, bars. Names are API: tests click by
// them, so every clickable thing has a label or an "##id" that stays.
//
// Threads: the window's, inside a frame.
#pragma once

#include <imgui.h>

#include <string>
#include <string_view>

#include "ui/icons.h"
#include "ui/ui.h"

namespace octavo {

// One line; cut with an ellipsis where `width` (pixels, 0: no limit) ends.
void text_line(Ui& ui, Face face, ImU32 colour, std::string_view text, float width = 0);
// Wrapped at the right edge of the region.
void text_block(Ui& ui, Face face, ImU32 colour, std::string_view text);
ImVec2 text_size(Ui& ui, Face face, std::string_view text);

enum class ButtonKind {
    normal,   // a raised surface
    primary,  // the one that matters
    quiet,    // a surface only under the mouse
    danger,
};
struct ButtonLook {
    ButtonKind kind = ButtonKind::normal;
    Icon icon = Icon::none;
    float width = 0;  // pixels; 0: what the text needs, below 0: to the right edge
    const char* tooltip = nullptr;
    bool enabled = true;
    bool small = false;
    bool selected = false;  // looks pressed: a toggle that is on
    bool muted = false;     // ink of less weight until the mouse is there
};
// `label` as Dear ImGui takes it ("Save##notes"). Without text before the "##" only the icon shows.
bool button(Ui& ui, const char* label, const ButtonLook& look = {});

// A heading of a part of a panel, with space above it.
void section(Ui& ui, const char* title);
// "name ........ value", the value on the right.
void figure_row(Ui& ui, std::string_view name, std::string_view value);
void progress_bar(Ui& ui, double share, float height = 6);  // share below 0: not known
void space(Ui& ui, float height);
void hairline(Ui& ui);

// Choices side by side, one of which holds. Returns the index that was clicked, -1 for none. Names end in "##...".
int segments(Ui& ui, const char* const* names, int count, int chosen);

// The field with this label, drawn next, takes what is typed from the next frame on.
void focus_field(const char* label);

// For the item before it; waits a little, and wraps.
void tooltip(Ui& ui, std::string_view text);
// Around BeginPopup / BeginCombo content: room at the edges.
void push_popup_style(Ui& ui);
void pop_popup_style();
bool menu_item(Ui& ui, const char* label, Icon icon = Icon::none, const char* shortcut = nullptr, bool enabled = true);

}  // namespace octavo
