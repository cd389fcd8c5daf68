// Draws what Dear ImGui produced without a GPU or a display: for pictures in documents, tests and CI.
//
// Exact enough for that: one sample a pixel, top-left fill rule, colours blended as stored (like the OpenGL back end
// does), the atlas sampled linearly. Non-goal: speed beyond some frames a second.
//
// Threads: pure.
#pragma once

#include <imgui.h>

#include "ui/image.h"

namespace octavo {

// `atlas`: the one texture that is used. Draw callbacks are left out.
void rasterise(const ImDrawData& data, ImFontAtlas& atlas, Image& image);

}  // namespace octavo
