// The colours of the window, light and dark, and the look that Dear ImGui's own widgets take from them.
//
// Threads: values; apply_theme works on the thread's ImGui context.
#pragma once

#include <imgui.h>

#include "ui/layout.h"

namespace octavo {

// Text colours stand on `background`, `panel` and `raised` with a contrast of at least 4.5 to 1 (a test says so).
struct Theme {
    ImU32 background;   // behind the transcript
    ImU32 panel;        // the sides
    ImU32 raised;       // fields, cards
    ImU32 said;         // behind what a person wrote
    ImU32 hover;        // under the mouse
    ImU32 selected;     // what is chosen
    ImU32 border;       // hairlines
    ImU32 text;         // what is read
    ImU32 muted;        // figures, dates, hints
    ImU32 accent;       // what matters now, on a background
    ImU32 accent_fill;  // the one main button
    ImU32 on_accent;    // text on it
    ImU32 success;
    ImU32 warning;
    ImU32 error;
    ImU32 selection;  // behind selected text, and of tabs and switches the chosen one
    ImU32 code;       // behind code
    ImU32 keyword;    // within it
    ImU32 string;
    ImU32 comment;
    ImU32 shadow;
    // Of stacked bars, in order of MemoryLineState::kind; then other processes.
    static constexpr int series_count = 7;
    ImU32 series[series_count];
};

const Theme& theme_colours(ThemeChoice choice);

// Colours and sizes of the context's style; `scale` multiplies every size.
void apply_theme(const Theme& theme, float scale);

ImU32 with_alpha(ImU32 colour, float alpha);
ImU32 mix(ImU32 from, ImU32 to, float share);

}  // namespace octavo
