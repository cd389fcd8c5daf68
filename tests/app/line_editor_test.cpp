#include "app/terminal/line_editor.h"

#include <gtest/gtest.h>

#include <string>

#include "app/terminal/text_width.h"

namespace octavo {
namespace {

using Event = LineEditor::Event;

constexpr const char* kLeft = "\x1b[D";
constexpr const char* kUp = "\x1b[A";
constexpr const char* kDown = "\x1b[B";

std::string typed(const std::string& bytes) {
    LineEditor editor;
    editor.begin("");
    EXPECT_EQ(editor.feed(bytes), Event::none);
    return editor.text();
}

TEST(LineEditor, InsertsAtTheCursor) {
    EXPECT_EQ(typed("abc"), "abc");
    EXPECT_EQ(typed(std::string("ac") + kLeft + "b"), "abc");
    EXPECT_EQ(typed("bc\x01"
                    "a\x05"
                    "d"),
              "abcd");
}

TEST(LineEditor, ErasesWholeCharacters) {
    EXPECT_EQ(typed("naïve\x7f\x7f\x7f"), "na");
    EXPECT_EQ(typed("你好\x7f"), "你");
    EXPECT_EQ(typed("e\u0301x\x7f\x7f"), "") << "a mark goes with its letter";
    EXPECT_EQ(typed("one two  \x17"), "one ");
    EXPECT_EQ(typed("one two\x1b[D\x1b[D\x0b"), "one t");
    EXPECT_EQ(typed("one two\x1b[D\x15"), "o");
    EXPECT_EQ(typed("ab\x1b[H\x1b[3~"), "b");
    EXPECT_EQ(typed("\x7f\x17\x15\x0b"), "");
}

TEST(LineEditor, TakesBytesInAnyPieces) {
    const std::string bytes = "grüße \x1b[D\x1b[200~ein\r\nzwei\x1b[201~🦉\x1b[C!";
    const std::string expected = typed(bytes);
    EXPECT_EQ(expected, "grüßeein\nzwei🦉 !");
    LineEditor editor;
    editor.begin("");
    for (const char byte : bytes) EXPECT_EQ(editor.feed(std::string(1, byte)), Event::none);
    EXPECT_EQ(editor.text(), expected);
}

TEST(LineEditor, PasteKeepsLinesAndEndsNothing) {
    LineEditor editor;
    editor.begin("");
    EXPECT_EQ(editor.feed("\x1b[200~first\rsecond\x03\x1b[201~"), Event::none);
    EXPECT_EQ(editor.text(), "first\nsecond\x03");
    EXPECT_EQ(editor.feed("\r"), Event::line);
}

TEST(LineEditor, KeepsWhatWasTypedAhead) {
    LineEditor editor;
    editor.begin("");
    EXPECT_EQ(editor.feed("one\rtwo\r"), Event::line);
    EXPECT_EQ(editor.text(), "one");
    editor.begin("");
    EXPECT_EQ(editor.feed(""), Event::line);
    EXPECT_EQ(editor.text(), "two");
}

TEST(LineEditor, TellsControlKeysApart) {
    LineEditor editor;
    editor.begin("");
    EXPECT_EQ(editor.feed("\x04"), Event::end_of_input);
    EXPECT_EQ(editor.feed("a\x03"), Event::interrupt);
    EXPECT_EQ(editor.feed("\x0c"), Event::clear_screen);
    EXPECT_EQ(editor.feed("\x01\x04"), Event::none) << "Ctrl-D in a line erases";
    EXPECT_EQ(editor.text(), "");
    EXPECT_EQ(editor.feed("\x1b[99;5u\x1bZ"), Event::none) << "unknown keys do nothing";
    EXPECT_EQ(editor.text(), "");
}

TEST(LineEditor, HistoryKeepsTheUnfinishedLine) {
    LineEditor editor;
    editor.add_to_history("first");
    editor.add_to_history("second");
    editor.begin("");
    editor.feed(std::string("new") + kUp);
    EXPECT_EQ(editor.text(), "second");
    editor.feed(std::string(kUp) + kUp);
    EXPECT_EQ(editor.text(), "first");
    editor.feed(std::string(kDown) + kDown + kDown);
    EXPECT_EQ(editor.text(), "new");
}

TEST(LineEditor, DrawsOneRowWhateverTheLength) {
    LineEditor editor;
    editor.begin(std::string(1'000'000, 'x') + "\n\tend");
    const std::string row = editor.draw("> ", 40);
    EXPECT_LT(row.size(), 200u);
    EXPECT_NE(row.find("⏎ end"), std::string::npos) << row;
    EXPECT_EQ(row.find('\n'), std::string::npos);
    editor.begin("你好");
    EXPECT_NE(editor.draw("> ", 40).find("\x1b[6C"), std::string::npos) << "two columns each";
    editor.feed(kLeft);
    EXPECT_NE(editor.draw("> ", 40).find("\x1b[4C"), std::string::npos);
}

TEST(LineEditor, BrokenBytesDoNoHarm) {
    LineEditor editor;
    editor.begin("a\xff\xc3");
    editor.draw("> ", 40);
    editor.feed("\x7f\x7f\x7f");
    EXPECT_EQ(editor.text(), "");
}

TEST(TextWidth, CountsColumns) {
    EXPECT_EQ(text_columns(""), 0);
    EXPECT_EQ(text_columns("abc"), 3);
    EXPECT_EQ(text_columns("é"), 1);
    EXPECT_EQ(text_columns("e\u0301"), 1);
    EXPECT_EQ(text_columns("你好"), 4);
    EXPECT_EQ(text_columns("🦉"), 2);
    EXPECT_EQ(text_columns("\xff\xfe"), 2);
}

}  // namespace
}  // namespace octavo
