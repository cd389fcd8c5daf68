// Conversations out of the desktop and into it, and replies that go on.
#include <fstream>
#include <iterator>

#include "app/desktop/list_controller.h"
#include "app/desktop/transfer_controller.h"
#include "tests/app/desktop_fixture.h"

namespace octavo {
namespace {

using test::DesktopFixture;
using Texts = std::vector<std::string>;

class DesktopTransfer : public DesktopFixture {
  protected:
    static std::string fresh_path(const std::string& name) {
        const std::string path = testing::TempDir() + "/octavo_transfer_" + name;
        std::remove(path.c_str());
        return path;
    }
    static std::string content(const std::string& path) {
        std::ifstream file(path);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    void export_as(action::ExportFormat format, const std::string& path) {
        act(action::ExportConversation{look().conversations.selected, format});
        act(action::ChooseFile{FilePurpose::export_conversation, path});
    }
};

TEST_F(DesktopTransfer, AnExportIsReadBackAsAnotherConversation) {
    start_with_model();
    send_and_answer("one", "a", 4);
    const std::string path = fresh_path("a.json");
    export_as(action::ExportFormat::json, path);
    until([&] { return says("Saved as"); });
    const int64_t first = look().conversations.selected;
    act(action::ImportConversations{});
    EXPECT_EQ(look().file_browser.purpose, FilePurpose::import_conversations);
    act(action::ChooseFile{FilePurpose::import_conversations, path});
    until([&] { return look().conversations.items.size() == 2 && look().conversations.selected != first; });
    EXPECT_EQ(texts(), Texts({"one", "a"}));
}

TEST_F(DesktopTransfer, MarkdownIsForPeople) {
    start_with_model();
    send_and_answer("one", "a reply", 4);
    until([&] { return look().conversations.items.size() == 1; });
    act(action::ExportConversation{look().conversations.selected, action::ExportFormat::markdown});
    EXPECT_EQ(look().file_browser.file_name, "one.md");
    const std::string path = fresh_path("a.md");
    act(action::ChooseFile{FilePurpose::export_conversation, path});
    until([&] { return says("Saved as"); });
    EXPECT_NE(content(path).find("a reply"), std::string::npos);
}

TEST_F(DesktopTransfer, NothingIsWrittenOver) {
    start_with_model();
    send_and_answer("one", "a", 4);
    const std::string path = fresh_path("kept.md");
    std::ofstream(path) << "mine";
    export_as(action::ExportFormat::markdown, path);
    until([&] { return says("exists already"); });
    EXPECT_EQ(content(path), "mine");
}

TEST_F(DesktopTransfer, WhatIsNoConversationIsRefused) {
    start_with_model();
    const std::string path = fresh_path("no.json");
    std::ofstream(path) << "{\"a\": 1}";
    act(action::ChooseFile{FilePurpose::import_conversations, path});
    until([&] { return !look().notices.empty(); });
    EXPECT_EQ(look().notices.back().kind, NoticeKind::error);
    EXPECT_TRUE(look().conversations.items.empty());
}

TEST(FileName, IsSafe) {
    EXPECT_EQ(file_name_of("a/b: c?", ".md"), "a-b- c-.md");
    EXPECT_EQ(file_name_of("", ".md"), "conversation.md");
    EXPECT_EQ(file_name_of("..", ".json"), "conversation.json");
    const std::string longest = file_name_of(std::string(59, 'x') + "灯塔", ".md");
    EXPECT_EQ(longest, std::string(59, 'x') + ".md");  // no half character
}

TEST(CalendarText, SaysWhatIsNear) {
    constexpr int64_t day = 86'400'000;
    constexpr int64_t now = 1'700'000'000'000;
    EXPECT_EQ(calendar_text(now, now).group, "Today");
    EXPECT_EQ(calendar_text(now - day, now).group, "Yesterday");
    EXPECT_EQ(calendar_text(now - 3 * day, now).group, "This week");
    EXPECT_EQ(calendar_text(now - 60 * day, now).group, "September 2023");
    EXPECT_EQ(calendar_text(now, now).time.size(), 5u);
}

TEST_F(DesktopTransfer, AStoppedReplyGoesOnBesideTheOldOne) {
    start_with_model();
    send("count");
    engine_->end_reply("one two", 4, StopReason::max_tokens);
    until([&] { return look().transcript.messages.at(1)->phase == MessagePhase::stopped; });
    act(action::ContinueReply{look().transcript.messages[1]->id});
    until([&] { return engine_->replies.size() == 2; });
    EXPECT_EQ(engine_->replies[1].begun, (std::vector<int32_t>{1, 2, 3}));
    EXPECT_EQ(engine_->replies[1].prompt.messages.size(), 1u);
    engine_->stream(" three");
    EXPECT_EQ(look().transcript.messages[1]->text, "one two three");
    engine_->end_reply(" three", 7);
    until([&] { return look().transcript.messages[1]->phase == MessagePhase::complete; });
    EXPECT_EQ(look().transcript.messages[1]->text, "one two three");
    EXPECT_EQ(look().transcript.messages[1]->siblings, 2);
    const StoredConversation conversation = stored(look().conversations.selected);
    ASSERT_EQ(conversation.messages.size(), 3u);
    EXPECT_EQ(conversation.messages[2].text, "one two three");
    EXPECT_EQ(conversation.messages[2].ids.size(), 6u);
}

}  // namespace
}  // namespace octavo
