#include "ui/text/clean_text.h"

#include <gtest/gtest.h>

#include "models/tokenizer/utf8.h"

namespace octavo {
namespace {

using namespace std::string_literals;

TEST(CleanText, KeepsWhatIsSound) {
    const std::string text = "Grüße, 灯塔, \xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x9A\x80\tend\n";
    EXPECT_EQ(clean_text(text), text);
}

TEST(CleanText, ReplacesBrokenBytesAndControls) {
    EXPECT_EQ(clean_text("a\xFF\xFEz"), "a\uFFFD\uFFFDz");
    EXPECT_EQ(clean_text("a\xE4\xB8"), "a\uFFFD");
    EXPECT_EQ(clean_text("a\0b\x1B[2J"s), "a\uFFFDb\uFFFD[2J");
    EXPECT_EQ(clean_text("\xC0\xAF"), "\uFFFD\uFFFD");
}

TEST(CleanText, UnifiesLineEnds) { EXPECT_EQ(clean_text("a\r\nb\rc\n"), "a\nb\nc\n"); }

TEST(CleanText, DropsMarksThatTurnTheText) { EXPECT_EQ(clean_text("a\u202Eb\u2066c"), "abc"); }

TEST(CleanText, IsValidWhateverComes) {
    std::string bytes;
    uint32_t state = 1;
    for (int i = 0; i < 20000; ++i) bytes += static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
    EXPECT_TRUE(is_valid_utf8(clean_text(bytes)));
}

}  // namespace
}  // namespace octavo
