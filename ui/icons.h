// The window's icons: strokes on a square of 24 units, drawn as sharp as the screen is, in any colour.
//
// Threads: the window's.
#pragma once

#include <imgui.h>

namespace octavo {

enum class Icon {
    none,
    plus,
    search,
    send,
    stop,
    copy,
    check,
    retry,
    edit,
    trash,
    left,
    right,
    down,
    up,
    close,
    attach,
    list,
    panel,
    sun,
    moon,
    more,
    warning,
    info,
    folder,
    file,
    save,
    open,
    help,
    resume,
    count
};

// `size`: the edge of the square in pixels.
void draw_icon(ImDrawList& list, Icon icon, ImVec2 top_left, float size, ImU32 colour);

}  // namespace octavo
