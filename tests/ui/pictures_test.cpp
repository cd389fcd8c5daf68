// The software rasteriser and the PNG files.
#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <set>

#include "ui/headless.h"
#include "ui/screenshot.h"
#include "ui/testing/sample_states.h"

namespace octavo {
namespace {

uint32_t u32_at(const std::string& bytes, size_t at) {
    uint32_t value = 0;
    for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
    return value;
}

TEST(Pictures, PngHoldsThePixels) {
    Image image(3, 2, 0xFF000000);
    image.pixels[4] = 0xFF336699;  // blue 0x33, green 0x66, red 0x99
    const std::string png = encode_png(image);
    EXPECT_EQ(png.substr(1, 3), "PNG");
    EXPECT_EQ(u32_at(png, 16), 3u);
    EXPECT_EQ(u32_at(png, 20), 2u);
    const uint32_t packed = u32_at(png, 33);
    std::string rows((3 * 3 + 1) * 2, '\0');
    uLongf size = rows.size();
    ASSERT_EQ(uncompress(reinterpret_cast<Bytef*>(rows.data()), &size, reinterpret_cast<const Bytef*>(png.data() + 41),
                         packed),
              Z_OK);
    EXPECT_EQ(rows.substr(14, 3), "\x99\x66\x33");  // its difference to the black pixel on the left
    const uint32_t crc = u32_at(png, 41 + packed);
    EXPECT_EQ(crc, crc32(0, reinterpret_cast<const Bytef*>(png.data() + 37), packed + 4));
}

TEST(Pictures, ShowTheInterfaceInItsColours) {
    Result<ViewState> state = sample_state("chat");
    ASSERT_TRUE(state);
    for (const ThemeChoice theme : {ThemeChoice::light, ThemeChoice::dark}) {
        WindowLayout layout;
        layout.theme = theme;
        HeadlessWindow window(layout);
        window.settle(*state);
        const Image image = window.picture();
        const std::set<uint32_t> colours(image.pixels.begin(), image.pixels.end());
        EXPECT_TRUE(colours.contains(theme_colours(theme).background));
        EXPECT_TRUE(colours.contains(theme_colours(theme).panel));
        EXPECT_TRUE(colours.contains(theme_colours(theme).text));
        EXPECT_GT(colours.size(), 100u) << "letters have smooth edges";
    }
}

double luminance(ImU32 colour) {
    double sum = 0;
    const double weights[] = {0.2126, 0.7152, 0.0722};
    for (int i = 0; i < 3; ++i) {
        const double c = ((colour >> (8 * i)) & 255) / 255.0;
        sum += weights[i] * (c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4));
    }
    return sum;
}

double contrast(ImU32 a, ImU32 b) {
    const double high = std::max(luminance(a), luminance(b));
    const double low = std::min(luminance(a), luminance(b));
    return (high + 0.05) / (low + 0.05);
}

TEST(Pictures, TextIsReadableOnEverySurface) {
    for (const ThemeChoice choice : {ThemeChoice::light, ThemeChoice::dark}) {
        const Theme& theme = theme_colours(choice);
        for (const ImU32 surface : {theme.background, theme.panel, theme.raised, theme.said, theme.code})
            for (const ImU32 ink : {theme.text, theme.muted, theme.accent, theme.success, theme.warning, theme.error})
                EXPECT_GE(contrast(ink, surface), 4.5) << std::hex << ink << " on " << surface;
        for (const ImU32 ink : {theme.keyword, theme.string, theme.comment}) EXPECT_GE(contrast(ink, theme.code), 4.5);
        EXPECT_GE(contrast(theme.on_accent, theme.accent_fill), 4.5);
        EXPECT_GE(contrast(theme.text, theme.selection), 4.5);
    }
}

}  // namespace
}  // namespace octavo
