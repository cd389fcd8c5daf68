#include "ui/fonts.h"

#include <imgui_freetype.h>

#include <cmath>
#include <span>

extern "C" {
extern const unsigned char octavo_font_regular[], octavo_font_regular_end[];
extern const unsigned char octavo_font_strong[], octavo_font_strong_end[];
extern const unsigned char octavo_font_italic[], octavo_font_italic_end[];
extern const unsigned char octavo_font_mono[], octavo_font_mono_end[];
extern const unsigned char octavo_font_symbols[], octavo_font_symbols_end[];
extern const unsigned char octavo_font_emoji[], octavo_font_emoji_end[];
extern const unsigned char octavo_font_cjk[], octavo_font_cjk_end[];
}

namespace octavo {
namespace {

using FontFile = std::span<const unsigned char>;

struct FaceSpec {
    FontFile file;
    float pixels;  // of a line, at scale 1
};

std::array<FaceSpec, face_count> face_specs() {
    const FontFile regular(octavo_font_regular, octavo_font_regular_end);
    const FontFile strong(octavo_font_strong, octavo_font_strong_end);
    const FontFile italic(octavo_font_italic, octavo_font_italic_end);
    const FontFile mono(octavo_font_mono, octavo_font_mono_end);
    return {FaceSpec{regular, 18}, {regular, 15.5f}, {strong, 18}, {strong, 21},
            {strong, 25},          {italic, 18},     {mono, 18}};
}

ImFont* add_font(ImFontAtlas& atlas, FontFile file, float pixels, const unsigned* ranges, bool merge) {
    ImFontConfig config;
    config.FontDataOwnedByAtlas = false;
    config.MergeMode = merge;
    // Letters stand where the font wants them; only lines snap to pixels.
    config.FontBuilderFlags = ImGuiFreeTypeBuilderFlags_LightHinting;
    config.GlyphRanges = ranges;
    // Dear ImGui takes the bytes as its own to free only when told so, and never writes to them.
    void* data = const_cast<unsigned char*>(file.data());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
    return atlas.AddFontFromMemoryTTF(data, static_cast<int>(file.size()), pixels, &config);
}

}  // namespace

std::unique_ptr<Fonts> build_fonts(float scale, const GlyphSets& glyphs) {
    const std::array<FontFile, 3> fallbacks = {FontFile(octavo_font_symbols, octavo_font_symbols_end),
                                               FontFile(octavo_font_cjk, octavo_font_cjk_end),
                                               FontFile(octavo_font_emoji, octavo_font_emoji_end)};
    const auto specs = face_specs();
    auto fonts = std::make_unique<Fonts>();
    fonts->scale = scale;
    fonts->atlas.Flags |= ImFontAtlasFlags_NoMouseCursors;
    fonts->atlas.TexGlyphPadding = 1;
    for (size_t i = 0; i < specs.size(); ++i) {
        const float pixels = std::round(specs[i].pixels * scale);
        fonts->ranges[i] = glyphs[i].ranges();
        const unsigned* ranges = fonts->ranges[i].data();
        fonts->faces[i] = add_font(fonts->atlas, specs[i].file, pixels, ranges, false);
        for (const FontFile fallback : fallbacks) add_font(fonts->atlas, fallback, pixels, ranges, true);
    }
    fonts->atlas.Build();
    return fonts;
}

}  // namespace octavo
