#include "ui/text/text_layout.h"

#include <gtest/gtest.h>

#include "ui/imgui_session.h"
#include "ui/markdown/inline_markdown.h"
#include "ui/testing/sample_texts.h"
#include "ui/text/clean_text.h"

namespace octavo {
namespace {

class TextLayoutTest : public testing::Test {
  protected:
    TextLayoutTest() : session_(1, ThemeChoice::dark, nullptr), ui_{session_.theme(), session_.loader(), 0, next_} {}

    TextLayout lay_out(const StyledText& text, float width, bool code = false) {
        return lay_out_text(ui_, text, {.width = width, .code = code});
    }
    static std::string line_text(const StyledText& text, const TextLine& line) {
        return text.text.substr(line.begin, line.end - line.begin);
    }

    double next_ = 0;
    ImGuiSession session_;
    Ui ui_;
};

StyledText plain(std::string_view text) {
    StyledText styled;
    styled.append(text, style_plain);
    return styled;
}

TEST_F(TextLayoutTest, BreaksAtSpaces) {
    const StyledText text = plain("one two three four five six seven");
    const TextLayout layout = lay_out(text, 100);
    ASSERT_GT(layout.lines.size(), 2u);
    std::string joined;
    for (const TextLine& line : layout.lines) {
        EXPECT_NE(line_text(text, line).front(), ' ');
        EXPECT_NE(line_text(text, line).back(), ' ');
        joined += (joined.empty() ? "" : " ") + line_text(text, line);
    }
    EXPECT_EQ(joined, text.text);
    EXPECT_LE(layout.widest, 100 + ui_.font(Face::body)->GetCharAdvance(' '));
}

TEST_F(TextLayoutTest, BreaksOverlongWordsAndIdeographs) {
    const StyledText word = plain(std::string(200, 'w'));
    EXPECT_GT(lay_out(word, 100).lines.size(), 10u);
    const StyledText chinese = plain("灯塔的门禁码是名单上有三个人可以使用灯塔的门禁码是名单上有三个人可以使用");
    const TextLayout layout = lay_out(chinese, 100);
    EXPECT_GT(layout.lines.size(), 3u);
    for (const TextLine& line : layout.lines) EXPECT_LE(line.end - line.begin, 30u);
}

TEST_F(TextLayoutTest, KeepsLineEndsAndSpacesOfCode) {
    const StyledText code = plain("a\n\n    b  c\n");
    const TextLayout layout = lay_out(code, 400, true);
    ASSERT_EQ(layout.lines.size(), 4u);
    EXPECT_EQ(line_text(code, layout.lines[2]), "    b  c");
}

// Every byte but white space at breaks and zero-width characters is in one run, in order, and no run leaves the width.
TEST_F(TextLayoutTest, RunsCoverMixedText) {
    const StyledText text = parse_inline(clean_text(std::string(sample_reply) + std::string(sample_scripts)), false);
    for (const float width : {40.0f, 123.0f, 300.0f, 2000.0f}) {
        const TextLayout layout = lay_out(text, width);
        uint32_t at = 0;
        for (const TextRun& run : layout.runs) {
            EXPECT_GE(run.begin, at);
            const std::string between = text.text.substr(at, run.begin - at);
            for (size_t i = 0; i < between.size(); ++i)
                EXPECT_TRUE(between[i] == ' ' || between[i] == '\n' || (between[i] & 0x80) != 0) << between;
            EXPECT_GT(run.end, run.begin);
            at = run.end;
        }
    }
}

TEST_F(TextLayoutTest, FindsPositionsAgain) {
    const StyledText text = parse_inline("some **strong** words and `code` over several lines of text", false);
    const TextLayout layout = lay_out(text, 150);
    for (const TextLine& line : layout.lines)
        for (uint32_t at = line.begin; at < line.end; ++at) {
            const float x = x_of(ui_, text, layout, line, at);
            EXPECT_EQ(byte_at(ui_, text, layout, x + 0.5f, line.y + 3), at);
        }
}

TEST_F(TextLayoutTest, NoticesMissingGlyphs) {
    const StyledText text = plain("Привет");
    EXPECT_TRUE(lay_out(text, 300).lacks_glyphs);
    session_.prepare(1, ThemeChoice::dark);  // the atlas is built again with what was seen
    EXPECT_FALSE(lay_out(text, 300).lacks_glyphs);
}

}  // namespace
}  // namespace octavo
