#include "ui/markdown/markdown.h"

#include <gtest/gtest.h>

#include "ui/testing/sample_texts.h"

namespace octavo {
namespace {

constexpr const char* kKinds[] = {"p", "h", "code", "table", "rule"};

// One line a block: kind, level, depths, mark, text.
std::string outline(const std::vector<MarkdownBlock>& blocks) {
    std::string result;
    for (const MarkdownBlock& block : blocks) {
        result += kKinds[static_cast<size_t>(block.kind)];
        if (block.kind == BlockKind::heading) result += std::to_string(block.level);
        if (block.quote_depth > 0) result += " quote" + std::to_string(block.quote_depth);
        if (block.list_depth > 0) result += " list" + std::to_string(block.list_depth);
        if (!block.marker.empty()) result += " " + block.marker;
        if (!block.language.empty()) result += " " + block.language;
        result += ": " + block.content.text;
        for (const StyledText& cell : block.cells) result += "[" + cell.text + "]";
        result += "\n";
    }
    return result;
}

std::string outline(std::string_view text, bool growing = false) {
    MarkdownDocument document;
    document.update(text, growing);
    return outline(document.blocks());
}

TEST(Markdown, ReadsParagraphsAndHeadings) {
    EXPECT_EQ(outline("# One\ntext\nmore\n\n### Two ##\nend"), "h1: One\np: text\nmore\nh3: Two\np: end\n");
    EXPECT_EQ(outline("#no heading\n####### nor this"), "p: #no heading\n####### nor this\n");
    EXPECT_EQ(outline("a\n\n---\n\nb"), "p: a\nrule: \np: b\n");
}

TEST(Markdown, ReadsCode) {
    EXPECT_EQ(outline("```cpp\nint a;\n\n  b\n```\nafter"), "code cpp: int a;\n\n  b\np: after\n");
    EXPECT_EQ(outline("~~~\n```\n~~~"), "code: ```\n");
    EXPECT_EQ(outline("````\n```\n````"), "code: ```\n");
    EXPECT_EQ(outline("```\nnever closed"), "code: never closed\n");
    EXPECT_EQ(outline("    indented\n      more"), "code: indented\n  more\n");
}

TEST(Markdown, ReadsLists) {
    EXPECT_EQ(outline("- a\n- b\n  - c\n- d"), "p list1 •: a\np list1 •: b\np list2 •: c\np list1 •: d\n");
    EXPECT_EQ(outline("3. a\n4. b\n9. c"), "p list1 3.: a\np list1 4.: b\np list1 5.: c\n");
    EXPECT_EQ(outline("- [x] done\n- [ ] open"), "p list1 ☑: done\np list1 ☐: open\n");
    EXPECT_EQ(outline("1. a\n\n   more\n\n2. b"), "p list1 1.: a\np list1: more\np list1 2.: b\n");
    EXPECT_EQ(outline("1. a\n   ```\n   x\n   ```\n2. b"), "p list1 1.: a\ncode list1: x\np list1 2.: b\n");
    EXPECT_EQ(outline("-\n- b"), "p list1 •: \np list1 •: b\n");
    EXPECT_EQ(outline("text\n- a\nlazy"), "p: text\np list1 •: a\nlazy\n");
}

TEST(Markdown, ReadsQuotes) {
    EXPECT_EQ(outline("> a\n> b\n>> c\nd"), "p quote1: a\nb\np quote2: c\np: d\n");
    EXPECT_EQ(outline("> - a\n>   b"), "p quote1 list1 •: a\nb\n");
}

TEST(Markdown, ReadsTables) {
    MarkdownDocument document;
    document.update("Here:\n| a | b |\n|:--|--:|\n| 1 | 2 |\n| 3 |\n\nend", false);
    EXPECT_EQ(outline(document.blocks()), "p: Here:\ntable: [a][b][1][2][3][]\np: end\n");
    EXPECT_EQ(document.blocks()[1].aligns, (std::vector<CellAlign>{CellAlign::left, CellAlign::right}));
    EXPECT_EQ(outline("a | b\nno rule"), "p: a | b\nno rule\n");
}

TEST(Markdown, ColoursCode) {
    MarkdownDocument document;
    document.update("```cpp\nreturn \"a\\\"b\"; // done\n```\n```\nreturn\n```", false);
    const StyledText& code = document.blocks()[0].content;
    std::string shown;
    for (const TextSpan& span : code.spans)
        shown +=
            std::to_string(span.style & ~style_code) + ":" + code.text.substr(span.begin, span.end - span.begin) + "|";
    EXPECT_EQ(shown, "32:return|0: |64:\"a\\\"b\"|0:; |128:// done|");
    ASSERT_EQ(document.blocks()[1].content.spans.size(), 1u);
    EXPECT_EQ(document.blocks()[1].content.spans[0].style, style_code);
}

TEST(Markdown, DepthIsBounded) {
    const std::string deep(5000, '>');
    MarkdownDocument document;
    document.update(deep + " text", false);
    ASSERT_EQ(document.blocks().size(), 1u);
    EXPECT_LE(document.blocks()[0].quote_depth, 8);
    std::string lists;
    for (int i = 0; i < 200; ++i) lists += std::string(static_cast<size_t>(i) * 2, ' ') + "- x\n";
    document.update(lists, false);
    for (const MarkdownBlock& block : document.blocks()) EXPECT_LE(block.list_depth, 8);
}

// A text that is shown while it grows looks at every moment as if it had come whole.
TEST(Markdown, GrowsAsIfItHadComeWhole) {
    const std::string_view texts[] = {sample_reply, sample_code_reply, "text\n#x\n1.5 and\n| a | b |\n|:- no table",
                                      "a\n\n- b\n\n  c\n---\n> d\n```e`f\n\tg"};
    for (const std::string_view text : texts) {
        MarkdownDocument document;
        for (size_t end = 1; end <= text.size(); ++end) {
            document.update(text.substr(0, end), true);
            ASSERT_EQ(outline(document.blocks()), outline(text.substr(0, end), true)) << text.substr(0, end);
        }
        document.update(text, false);
        EXPECT_EQ(outline(document.blocks()), outline(text));
    }
}

TEST(Markdown, KeepsWhatDidNotChange) {
    MarkdownDocument document;
    document.update("one\n\ntwo\n\nthree", true);
    EXPECT_EQ(document.update("one\n\ntwo\n\nthree and more", true), 1u);
    EXPECT_EQ(document.update("another text", true), 0u);
}

}  // namespace
}  // namespace octavo
