// The faces and sizes that the window writes with, in one atlas. Every face falls back to the embedded symbol, emoji
// and CJK fonts for what it lacks. The atlas is built for one scale and one set of characters, and built anew when a
// text needs more of them.
//
// Threads: build_fonts may run on any thread; what it returns is used by the window's thread alone.
// Non-goals: shaping (Arabic and Indic scripts show letter by letter), colour emoji.
#pragma once

#include <imgui.h>

#include <array>
#include <memory>

#include "ui/glyph_set.h"

namespace octavo {

enum class Face { body, small, strong, heading, title, italic, mono };
inline constexpr int face_count = 7;

using GlyphSets = std::array<GlyphSet, face_count>;

struct Fonts {
    float scale = 1;
    ImFontAtlas atlas;
    std::array<ImFont*, face_count> faces{};
    // The ranges that the atlas keeps pointers to.
    std::array<std::vector<unsigned>, face_count> ranges;

    ImFont* operator[](Face face) const { return faces[static_cast<size_t>(face)]; }
};

// `scale` 1: 18 pixels a line of body text. Takes about 30 ms for Latin, some 100 ms with common Chinese.
std::unique_ptr<Fonts> build_fonts(float scale, const GlyphSets& glyphs);

}  // namespace octavo
