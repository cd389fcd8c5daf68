// `octavo chat` at a terminal of its own: line editing, streaming, Ctrl-C, leaving.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/process_platform.h"
#include "tests/support/temporary_folder.h"

namespace octavo {
namespace {

constexpr const char* kPasteStart = "\x1b[200~";
constexpr const char* kPasteEnd = "\x1b[201~";
constexpr const char* kCtrlC = "\x03";
constexpr const char* kCtrlD = "\x04";

// A prompt that takes a while to read: what is stopped is the reading.
std::string long_document() {
    const auto path = std::filesystem::path(testing::TempDir()) / "octavo_terminal_test.txt";
    std::ofstream out(path);
    for (int i = 0; i < 6000; ++i) out << "Entry " << i << ": the boats came home before the evening.\n";
    return path.string();
}

TEST(ChatTerminal, ChatsAndLeaves) {
    // No arguments and no display: the chat.
    TerminalProcess terminal({"/usr/bin/env", "-u", "DISPLAY", "-u", "WAYLAND_DISPLAY", OCTAVO_PROGRAM});
    ASSERT_TRUE(terminal.wait_for("/help")) << terminal.seen();
    ASSERT_TRUE(terminal.wait_for("> ")) << terminal.seen();
    terminal.type(std::string(kPasteStart) + "The access code of the lighthouse is QUARTZ-DELTA-8813.\r" +
                  "What is the access code of the lighthouse?" + kPasteEnd + "\r");
    ASSERT_TRUE(terminal.wait_for("lighthouse?\x1b[K")) << "drawn in one row: " << terminal.seen();
    ASSERT_TRUE(terminal.wait_for("QUARTZ-DELTA-8813")) << terminal.seen();
    ASSERT_TRUE(terminal.wait_for("reused 0 of")) << terminal.seen();
    terminal.type("/regen\r");
    ASSERT_TRUE(terminal.wait_for("QUARTZ-DELTA-8813")) << terminal.seen();
    ASSERT_TRUE(terminal.wait_for("prefilled 0")) << terminal.seen();
    terminal.type("/edit 1\r");
    ASSERT_TRUE(terminal.wait_for("lighthouse?\x1b[K")) << terminal.seen();
    terminal.type("\x01");  // to its start
    ASSERT_TRUE(terminal.wait_for("> /edit 1 The access"))
        << "the old message is there to be changed: " << terminal.seen();
    terminal.type(std::string(kCtrlC) + "/nonsense\r");
    ASSERT_TRUE(terminal.wait_for("no command '/nonsense'")) << terminal.seen();
    terminal.type(kCtrlD);
    EXPECT_EQ(terminal.exit_code(), 0) << terminal.seen();
}

TEST(ChatTerminal, InterruptStopsTheReplyNotTheProgram) {
    TerminalProcess terminal({OCTAVO_PROGRAM, "chat", "--temp", "2", "--repeat-penalty", "2"});
    ASSERT_TRUE(terminal.wait_for("> ")) << terminal.seen();
    terminal.type("/file " + long_document() + "\r");
    ASSERT_TRUE(terminal.wait_for("before your next message")) << terminal.seen();
    ASSERT_TRUE(terminal.wait_for("> ")) << terminal.seen();
    terminal.type("What came home?\r");
    ASSERT_TRUE(terminal.wait_for("reading ")) << "progress is shown: " << terminal.seen();
    terminal.type(kCtrlC);
    ASSERT_TRUE(terminal.wait_for("stopped")) << terminal.seen();
    ASSERT_TRUE(terminal.wait_for("> ")) << terminal.seen();
    terminal.type("/stats\r");
    ASSERT_TRUE(terminal.wait_for("0 messages")) << "the message was taken back: " << terminal.seen();
    terminal.type("/quit\r");
    EXPECT_EQ(terminal.exit_code(), 0) << terminal.seen();
}

TEST(ChatTerminal, InterruptRightAfterEnterStopsTheReading) {
    TerminalProcess terminal({OCTAVO_PROGRAM, "chat"});
    ASSERT_TRUE(terminal.wait_for("> ")) << terminal.seen();
    terminal.type("/file " + long_document() + "\r");
    ASSERT_TRUE(terminal.wait_for("before your next message")) << terminal.seen();
    ASSERT_TRUE(terminal.wait_for("> ")) << terminal.seen();
    terminal.type(std::string("What came home?\r") + kCtrlC);
    ASSERT_TRUE(terminal.wait_for("the message was taken back")) << terminal.seen();
    terminal.type("/quit\r");
    EXPECT_EQ(terminal.exit_code(), 0) << terminal.seen();
}

TEST(ChatTerminal, AnInterruptedQuestionThatWasSavedIsSaidToStay) {
    const TemporaryFolder folder;
    const std::string store = (folder / "conversations.db").string();
    TerminalProcess terminal({OCTAVO_PROGRAM, "chat", "--store", store});
    ASSERT_TRUE(terminal.wait_for("> ")) << terminal.seen();
    terminal.type("/file " + long_document() + "\r");
    ASSERT_TRUE(terminal.wait_for("before your next message")) << terminal.seen();
    ASSERT_TRUE(terminal.wait_for("> ")) << terminal.seen();
    terminal.type(std::string("What came home?\r") + kCtrlC);
    ASSERT_TRUE(terminal.wait_for("the saved conversation keeps it")) << terminal.seen();
    terminal.type("/quit\r");
    EXPECT_EQ(terminal.exit_code(), 0) << terminal.seen();
    EXPECT_NE(run_process({OCTAVO_PROGRAM, "conversations", "--store", store}).output.find("What came home?"),
              std::string::npos);
}

TEST(ChatTerminal, EndingSignalPutsTheTerminalBack) {
    TerminalProcess terminal({OCTAVO_PROGRAM, "chat"});
    ASSERT_TRUE(terminal.wait_for("> ")) << terminal.seen();
    ASSERT_FALSE(terminal.echoes());
    terminal.send_terminate();
    EXPECT_EQ(terminal.exit_code(), 128 + 15) << terminal.seen();
    EXPECT_TRUE(terminal.echoes());
    EXPECT_TRUE(terminal.seen().ends_with("\x1b[?2004l")) << "pastes are not marked any more: " << terminal.seen();
}

TEST(ChatTerminal, PastedLinesAreAMessageAndEditShowsWhatWasTyped) {
    TerminalProcess terminal({OCTAVO_PROGRAM, "chat", "-n", "2"});
    ASSERT_TRUE(terminal.wait_for("> ")) << terminal.seen();
    const auto path = std::filesystem::path(testing::TempDir()) / "octavo_terminal_note.txt";
    std::ofstream(path) << "The boats came home.";
    terminal.type("/file " + path.string() + "\r");
    ASSERT_TRUE(terminal.wait_for("before your next message")) << terminal.seen();
    terminal.type(std::string(kPasteStart) + "/quit\rit says." + kPasteEnd + "\r");
    ASSERT_TRUE(terminal.wait_for("prefilled")) << terminal.seen();
    terminal.type("/edit 1\r");
    ASSERT_TRUE(terminal.wait_for("> /edit 1 /quit")) << terminal.seen();
    terminal.type(std::string(kCtrlC) + "/quit\r");
    EXPECT_EQ(terminal.exit_code(), 0) << terminal.seen();
}

}  // namespace
}  // namespace octavo
