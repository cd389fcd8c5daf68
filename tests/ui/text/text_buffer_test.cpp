#include "ui/text/text_buffer.h"

#include <gtest/gtest.h>

namespace octavo {
namespace {

using Step = TextBuffer::Step;

TEST(TextBuffer, InsertsAndErases) {
    TextBuffer buffer;
    buffer.insert("hello");
    buffer.move_to(0, false);
    buffer.move_to(1, true);
    buffer.insert("J");
    EXPECT_EQ(buffer.text(), "Jello");
    buffer.erase_right(Step::character);
    EXPECT_EQ(buffer.text(), "Jllo");
    buffer.move_to(4, false);
    buffer.erase_left(Step::word);
    EXPECT_EQ(buffer.text(), "");
    buffer.erase_left(Step::character);
    EXPECT_EQ(buffer.text(), "");
}

TEST(TextBuffer, StepsOverWholeCharacters) {
    const std::string astronaut = "\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x9A\x80";  // woman, joiner, rocket
    const std::string accented = "e\xCC\x81";
    TextBuffer buffer;
    buffer.set_text("a" + astronaut + accented + "灯");
    buffer.move_to(0, false);
    const size_t stops[] = {1, 1 + astronaut.size(), 1 + astronaut.size() + accented.size(), buffer.text().size()};
    for (const size_t stop : stops) {
        buffer.move_right(Step::character, false);
        EXPECT_EQ(buffer.cursor(), stop);
    }
    for (int i = 2; i >= 0; --i) {
        buffer.move_left(Step::character, false);
        EXPECT_EQ(buffer.cursor(), stops[i]);
    }
    buffer.move_to(stops[1], false);
    buffer.erase_left(Step::character);
    EXPECT_EQ(buffer.text(), "a" + accented + "灯");
}

TEST(TextBuffer, StepsOverWords) {
    TextBuffer buffer;
    buffer.set_text("one two, three");
    buffer.move_to(0, false);
    buffer.move_right(Step::word, false);
    EXPECT_EQ(buffer.cursor(), 4u);
    buffer.move_right(Step::word, true);
    EXPECT_EQ(buffer.selected(), "two, ");
    buffer.move_left(Step::character, false);  // to the edge of what was selected
    EXPECT_EQ(buffer.cursor(), 4u);
    buffer.select_word(10);
    EXPECT_EQ(buffer.selected(), "three");
}

TEST(TextBuffer, UndoTakesBackStretches) {
    TextBuffer buffer;
    for (const char* letter : {"a", "b", "c"}) buffer.insert(letter);
    buffer.insert(" ");
    for (const char* letter : {"d", "e"}) buffer.insert(letter);
    buffer.undo();
    EXPECT_EQ(buffer.text(), "abc ");
    buffer.undo();
    buffer.undo();
    EXPECT_EQ(buffer.text(), "");
    buffer.undo();
    buffer.redo();
    EXPECT_EQ(buffer.text(), "abc");
    buffer.insert("!");
    buffer.redo();  // nothing: something else was written
    EXPECT_EQ(buffer.text(), "abc!");
}

TEST(TextBuffer, TakesOnlySoundText) {
    TextBuffer buffer;
    buffer.set_text("a\xFF");
    buffer.insert("\x01\r\n");
    EXPECT_EQ(buffer.text(), "a\uFFFD\uFFFD\n");
    buffer.move_to(2, false);  // inside of a character
    EXPECT_EQ(buffer.cursor(), 1u);
}

}  // namespace
}  // namespace octavo
