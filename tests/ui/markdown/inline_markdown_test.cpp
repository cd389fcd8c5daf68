#include "ui/markdown/inline_markdown.h"

#include <gtest/gtest.h>

namespace octavo {
namespace {

// Every span as "style:text", so that a failure reads well.
std::string shown(std::string_view text, bool growing = false) {
    static constexpr std::pair<int, const char*> names[] = {
        {style_strong, "b"}, {style_emphasis, "i"}, {style_code, "c"}, {style_struck, "s"}, {style_link, "a"}};
    const StyledText styled = parse_inline(text, growing);
    std::string result;
    for (const TextSpan& span : styled.spans) {
        if (!result.empty()) result += "|";
        for (const auto& [style, name] : names)
            if (span.style & style) result += name;
        result += ":" + styled.text.substr(span.begin, span.end - span.begin);
    }
    return result;
}

TEST(InlineMarkdown, ReadsEmphasis) {
    EXPECT_EQ(shown("a **b** c"), ":a |b:b|: c");
    EXPECT_EQ(shown("*a* _b_ __c__"), "i:a|: |i:b|: |b:c");
    EXPECT_EQ(shown("***both***"), "bi:both");
    EXPECT_EQ(shown("**bold with *italic* inside**"), "b:bold with |bi:italic|b: inside");
    EXPECT_EQ(shown("~~gone~~"), "s:gone");
}

TEST(InlineMarkdown, LeavesMarksThatMeanNothing) {
    EXPECT_EQ(shown("2 * 3 * 4"), ":2 * 3 * 4");
    EXPECT_EQ(shown("snake_case_name"), ":snake_case_name");
    EXPECT_EQ(shown("**open"), ":**open");
    EXPECT_EQ(shown("~ 5 ~"), ":~ 5 ~");
    EXPECT_EQ(shown("a\\*b\\*"), ":a*b*");
}

TEST(InlineMarkdown, ReadsCode) {
    EXPECT_EQ(shown("use `f(x)` now"), ":use |c:f(x)|: now");
    EXPECT_EQ(shown("`` `tick` ``"), "c:`tick`");
    EXPECT_EQ(shown("`**not bold**`"), "c:**not bold**");
    EXPECT_EQ(shown("a ` b"), ":a ` b");
}

TEST(InlineMarkdown, ReadsLinks) {
    const StyledText styled = parse_inline("see [the page](https://a.b/c_(d)) or https://e.f/g.", false);
    ASSERT_EQ(styled.links.size(), 2u);
    EXPECT_EQ(styled.links[0], "https://a.b/c_(d)");
    EXPECT_EQ(styled.links[1], "https://e.f/g");
    EXPECT_EQ(styled.text, "see the page or https://e.f/g.");
    EXPECT_EQ(shown("[no link] (here)"), ":[no link] (here)");
    EXPECT_EQ(shown("<https://x.y>"), "a:https://x.y");
}

TEST(InlineMarkdown, ShowsWhatIsStillBeingWritten) {
    EXPECT_EQ(shown("now **bold te", true), ":now |b:bold te");
    EXPECT_EQ(shown("call `f(", true), ":call |c:f(");
    EXPECT_EQ(shown("ends in **", true), ":ends in ");
}

TEST(InlineMarkdown, SpansCoverAllOfTheText) {
    for (const char* text :
         {"", "*", "**", "[", "](", "`", "a **b `c** d` e", "&lt;&nbsp;&what;", "<br>x<br/>", "\\"}) {
        const StyledText styled = parse_inline(text, false);
        uint32_t at = 0;
        for (const TextSpan& span : styled.spans) {
            EXPECT_EQ(span.begin, at) << text;
            at = span.end;
        }
        EXPECT_EQ(at, styled.text.size()) << text;
    }
}

// Work is in proportion to the text: each of these would take minutes if every mark looked through all of the rest.
TEST(InlineMarkdown, HostileTextEnds) {
    constexpr size_t bytes = 200'000;
    for (const char* piece : {"*", "_a", "**a ", "`", "` ``", "[", "[](", "<", "~~", "http://", "*a**b***"}) {
        std::string text;
        while (text.size() < bytes) text += piece;
        EXPECT_LE(parse_inline(text, true).text.size(), text.size()) << piece;
    }
}

}  // namespace
}  // namespace octavo
