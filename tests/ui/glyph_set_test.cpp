#include "ui/glyph_set.h"

#include <gtest/gtest.h>

namespace octavo {
namespace {

TEST(GlyphSet, BeginsWithLatin) {
    GlyphSet glyphs;
    EXPECT_FALSE(glyphs.add("Plain text, naïve café – “quoted” → 5 ≥ 3\n"));
    EXPECT_TRUE(glyphs.contains('A'));
    EXPECT_FALSE(glyphs.contains(U'Я'));
}

TEST(GlyphSet, GrowsByRowsAndByChineseCharacters) {
    GlyphSet glyphs;
    EXPECT_TRUE(glyphs.add("Я"));
    EXPECT_TRUE(glyphs.contains(U'Ж')) << "the row comes together";
    EXPECT_FALSE(glyphs.add("Я"));
    EXPECT_TRUE(glyphs.add("灯"));
    EXPECT_FALSE(glyphs.contains(U'塔'));
}

TEST(GlyphSet, CommonChineseComesTogether) {
    GlyphSet glyphs;
    glyphs.add("灯塔的门禁码是名单上有三个人可以使用它们每天都在海边等待");
    EXPECT_TRUE(glyphs.contains(U'国'));
    EXPECT_FALSE(glyphs.add("国家"));
}

TEST(GlyphSet, TakesBrokenBytes) {
    GlyphSet glyphs;
    EXPECT_FALSE(glyphs.add("\xFF\xC3\xE4\xB8"));
    EXPECT_FALSE(glyphs.add("\xF4\x8F\xBF\xBF")) << "nothing that the fonts have lies there";
}

TEST(GlyphSet, RangesEndInZero) {
    GlyphSet glyphs;
    const auto ranges = glyphs.ranges();
    ASSERT_EQ(ranges.size() % 2, 1u);
    EXPECT_EQ(ranges.front(), 0x20u);
    EXPECT_EQ(ranges.back(), 0u);
}

}  // namespace
}  // namespace octavo
