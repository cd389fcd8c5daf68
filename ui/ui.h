// What every drawing function is handed beside its state: colours, fonts, the scale, and the time. Sizes in the code
// are those of scale 1; `px` turns them into pixels.
//
// Threads: the window's.
#pragma once

#include <imgui.h>

#include <algorithm>

#include "ui/font_loader.h"
#include "ui/theme.h"

namespace octavo {

struct Ui {
    const Theme& theme;
    FontLoader& loader;
    double seconds;         // of a clock that tests set
    double& next_frame_in;  // seconds after which something changes by itself

    float px(float size) const { return size * loader.fonts().scale; }
    ImFont* font(Face face) const { return loader.fonts()[face]; }
    void draw_again_in(double time_s) const { next_frame_in = std::min(next_frame_in, time_s); }
};

}  // namespace octavo
