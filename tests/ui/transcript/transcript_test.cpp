// The transcript and the composer as a person uses them: mouse and keys go in, actions and the clipboard come out.
#include <gtest/gtest.h>

#include "ui/testing/driver.h"
#include "ui/testing/sample_states.h"
#include "ui/testing/sample_texts.h"

namespace octavo {
namespace {

ViewState sample(std::string_view name) {
    Result<ViewState> state = sample_state(name);
    EXPECT_TRUE(state) << name;
    return state ? *std::move(state) : ViewState{};
}

class TranscriptTest : public testing::Test {
  protected:
    explicit TranscriptTest(std::string_view name = "chat") : driver_(WindowLayout{}, sample(name)) {}

    // The newest action of a kind since the last look; null: none.
    template <class Wanted>
    const Wanted* taken() {
        actions_ = driver_.take_actions();
        const Wanted* found = nullptr;
        for (const Action& action : actions_)
            if (const auto* wanted = std::get_if<Wanted>(&action)) found = wanted;
        return found;
    }
    TranscriptView& transcript() { return driver_.window().interface().transcript(); }
    ComposerView& composer() { return driver_.window().interface().composer(); }
    ImVec2 middle_of(std::string_view name) {
        const SeenItem* item = driver_.find(name);
        return item == nullptr ? ImVec2() : ImVec2((item->min.x + item->max.x) / 2, (item->min.y + item->max.y) / 2);
    }
    std::string clipboard() {
        const char* text = ImGui::GetClipboardText();
        return text == nullptr ? "" : text;
    }
    void set_message(size_t index, MessageView message) {
        message.revision = driver_.state().transcript.messages[index]->revision + 1;
        driver_.state().transcript.messages[index] = std::make_shared<const MessageView>(std::move(message));
    }

    UiDriver driver_;
    Actions actions_;
};

TEST_F(TranscriptTest, RepliesHaveTheirButtons) {
    ASSERT_TRUE(driver_.click("##retry-4")) << driver_.seen();
    ASSERT_NE(taken<action::RetryReply>(), nullptr);
    ASSERT_TRUE(driver_.click("##copy-4"));
    EXPECT_EQ(clipboard(), sample_code_reply);
    ASSERT_TRUE(driver_.click("##older-3")) << driver_.seen();
    const auto* sibling = taken<action::ShowSibling>();
    ASSERT_NE(sibling, nullptr);
    EXPECT_EQ(sibling->message, 3);
    EXPECT_EQ(sibling->sibling, 1);
}

TEST_F(TranscriptTest, DeletingAsksFirst) {
    ASSERT_TRUE(driver_.click("##delete-4"));
    EXPECT_EQ(taken<action::DeleteMessage>(), nullptr);
    ASSERT_TRUE(driver_.click("Delete##really-4")) << driver_.seen();
    ASSERT_NE(taken<action::DeleteMessage>(), nullptr);
}

TEST_F(TranscriptTest, CodeIsCopiedWithoutItsFence) {
    ASSERT_TRUE(driver_.click("Copy##code")) << driver_.seen();
    EXPECT_EQ(clipboard().substr(0, 7), "// True");
    EXPECT_EQ(clipboard().find("```"), std::string::npos);
}

TEST_F(TranscriptTest, TextIsSelectedAcrossBlocksAndCopied) {
    const ImVec2 retry = middle_of("##retry-4");
    driver_.drag({retry.x + 600, retry.y - 28}, {retry.x - 80, retry.y - 100});
    const std::string selected = transcript().selected_text();
    EXPECT_NE(selected.find("summer times"), std::string::npos) << selected;
    EXPECT_NE(selected.find("Nothing else in the text restricts it."), std::string::npos) << selected;
    driver_.press(ImGuiMod_Ctrl | ImGuiKey_C);
    EXPECT_EQ(clipboard(), selected);
}

TEST_F(TranscriptTest, DoubleClickSelectsAWord) {
    const ImVec2 retry = middle_of("##retry-4");
    const ImVec2 word(retry.x, retry.y - 28);  // "Nothing else in the text restricts it."
    driver_.click_at(word);
    driver_.click_at(word);
    EXPECT_EQ(transcript().selected_text(), "Nothing");
}

TEST_F(TranscriptTest, StaysAtTheEndUnlessScrolledAway) {
    MessageView reply = *driver_.state().transcript.messages[3];
    reply.phase = MessagePhase::writing;
    reply.text += "\n\nmore\n\nand more";
    set_message(3, reply);
    driver_.frames();
    EXPECT_TRUE(transcript().at_end());
    driver_.scroll({600, 300}, 1);
    EXPECT_FALSE(transcript().at_end());
    const SeenItem* before = driver_.find("Copy##code");
    ASSERT_NE(before, nullptr) << driver_.seen();
    const float y = before->min.y;
    reply.text += "\n\nfar below";
    set_message(3, reply);
    driver_.frames();
    const SeenItem* after = driver_.find("Copy##code");
    ASSERT_NE(after, nullptr);
    EXPECT_EQ(after->min.y, y) << "what is read must not move";
    driver_.scroll({600, 300}, -50);
    EXPECT_TRUE(transcript().at_end());
}

class ThinkingTest : public TranscriptTest {
  protected:
    ThinkingTest() : TranscriptTest("thinking") {}
};

TEST_F(ThinkingTest, IsFoldedAndStaysAsThePersonLeftIt) {
    ASSERT_NE(driver_.find("Thinking for 3.4 s"), nullptr) << driver_.seen();
    const float folded = middle_of("##thinking-4").y;
    ASSERT_TRUE(driver_.click("##thinking-4"));
    const float open = middle_of("##thinking-4").y;
    EXPECT_LT(open, folded - 20) << "its text stands below it";
    MessageView reply = *driver_.state().transcript.messages[3];
    reply.phase = MessagePhase::writing;
    reply.thinking_seconds = 5;
    reply.text = "Now the answer.";
    set_message(3, reply);
    driver_.frames();
    EXPECT_NE(driver_.find("Thought for 5.0 s"), nullptr) << driver_.seen();
    EXPECT_LT(middle_of("##thinking-4").y, folded - 20) << "still open";
}

TEST_F(ThinkingTest, StopIsOffered) {
    ASSERT_TRUE(driver_.click("##stop")) << driver_.seen();
    ASSERT_NE(taken<action::Stop>(), nullptr);
    driver_.press(ImGuiKey_Escape);
    ASSERT_NE(taken<action::Stop>(), nullptr);
}

class ComposerTest : public TranscriptTest {};

TEST_F(ComposerTest, SendsWithEnterAndBreaksLinesWithShift) {
    driver_.click("##message");
    driver_.type("hello 你好 \xF0\x9F\x98\x80");
    driver_.press(ImGuiMod_Shift | ImGuiKey_Enter);
    driver_.type("again");
    const auto* draft = taken<action::DraftChanged>();
    ASSERT_NE(draft, nullptr);
    EXPECT_EQ(draft->text, "hello 你好 \xF0\x9F\x98\x80\nagain");
    driver_.press(ImGuiKey_Enter);
    const auto* sent = taken<action::SendMessage>();
    ASSERT_NE(sent, nullptr);
    EXPECT_EQ(sent->text, "hello 你好 \xF0\x9F\x98\x80\nagain");
    EXPECT_EQ(composer().text(), "");
}

TEST_F(ComposerTest, WhatIsSelectedIsReplaced) {
    driver_.click("##message");
    driver_.type("one two");
    driver_.press(ImGuiMod_Ctrl | ImGuiKey_A);
    driver_.type("three");
    EXPECT_EQ(composer().text(), "three");
    driver_.press(ImGuiMod_Ctrl | ImGuiKey_Z);
    driver_.press(ImGuiMod_Ctrl | ImGuiKey_A);
    driver_.press(ImGuiMod_Ctrl | ImGuiKey_X);
    EXPECT_EQ(composer().text(), "");
    EXPECT_EQ(clipboard(), "one two");
}

TEST_F(ComposerTest, OneClickReachesButtonsWhileWriting) {
    driver_.click("##message");
    driver_.type("x");
    ASSERT_TRUE(composer().focused());
    driver_.click("##retry-4");
    EXPECT_NE(taken<action::RetryReply>(), nullptr);
}

TEST_F(ComposerTest, PagesScrollTheMessagesWhileWriting) {
    driver_.click("##message");
    driver_.press(ImGuiKey_PageUp);
    EXPECT_FALSE(transcript().at_end());
    driver_.press(ImGuiKey_PageDown);
    EXPECT_TRUE(transcript().at_end());
}

TEST_F(ComposerTest, KeepsTheTextWhenItCannotBeSent) {
    driver_.state().composer.can_send = false;
    driver_.state().composer.blocked_reason = "The context is full.";
    driver_.click("##message");
    driver_.type("not yet");
    driver_.press(ImGuiKey_Enter);
    EXPECT_EQ(taken<action::SendMessage>(), nullptr);
    EXPECT_EQ(composer().text(), "not yet");
}

TEST_F(ComposerTest, TypingAnywhereWrites) {
    driver_.click_at({600, 300});
    driver_.type("x");
    EXPECT_EQ(composer().text(), "x");
}

TEST_F(ComposerTest, ALongPasteIsAttached) {
    driver_.click("##message");
    ImGui::SetClipboardText(std::string(5 << 20, 'a').c_str());
    driver_.press(ImGuiMod_Ctrl | ImGuiKey_V);
    const auto* attached = taken<action::AttachText>();
    ASSERT_NE(attached, nullptr);
    EXPECT_EQ(attached->text.size(), size_t{5} << 20);
    EXPECT_EQ(composer().text(), "");
    ImGui::SetClipboardText("short");
    driver_.press(ImGuiMod_Ctrl | ImGuiKey_V);
    EXPECT_EQ(composer().text(), "short");
}

TEST_F(ComposerTest, TakesADraftOverOnce) {
    driver_.state().composer.draft = "from another day";
    driver_.state().composer.draft_revision = 7;
    driver_.frames();
    EXPECT_EQ(composer().text(), "from another day");
    driver_.type("!");
    EXPECT_EQ(composer().text(), "from another day!");
}

TEST_F(ComposerTest, KeysOfTheWindowWork) {
    driver_.press(ImGuiMod_Ctrl | ImGuiKey_N);
    EXPECT_NE(taken<action::NewConversation>(), nullptr);
    driver_.press(ImGuiKey_F1);
    EXPECT_NE(driver_.find("##close-help"), nullptr) << driver_.seen();
    driver_.press(ImGuiKey_Escape);
    EXPECT_EQ(driver_.find("##close-help"), nullptr);
    driver_.press(ImGuiMod_Ctrl | ImGuiKey_Equal);
    EXPECT_GT(driver_.window().interface().layout().scale, 1.0f);
    driver_.press(ImGuiMod_Ctrl | ImGuiKey_0);
    EXPECT_EQ(driver_.window().interface().layout().scale, 1.0f);
    driver_.press(ImGuiMod_Ctrl | ImGuiKey_B);
    EXPECT_EQ(driver_.find("New chat"), nullptr);
}

TEST_F(ComposerTest, SidesAreDraggedByTheirEdges) {
    const WindowLayout& layout = driver_.window().interface().layout();
    const ImVec2 list = middle_of("##list-edge");
    driver_.drag(list, {list.x + 40, list.y});
    EXPECT_NEAR(layout.list_width, 290, 1);
    const ImVec2 panel = middle_of("##panel-edge");
    driver_.drag(panel, {panel.x + 1000, panel.y});
    EXPECT_EQ(layout.panel_width, 200);
}

class LongTest : public TranscriptTest {
  protected:
    LongTest() : TranscriptTest("long") {}
};

TEST_F(LongTest, DrawsOnlyWhatIsVisible) {
    EXPECT_LT(ImGui::GetDrawData()->TotalVtxCount, 40000);
    driver_.press(ImGuiKey_Home);
    driver_.frames(3);
    EXPECT_LT(ImGui::GetDrawData()->TotalVtxCount, 40000);
    EXPECT_FALSE(transcript().at_end());
}

TEST_F(LongTest, ComesToRest) {
    for (int i = 0; i < 500 && driver_.window().next_frame_in() < 1; ++i) driver_.frames(1);
    EXPECT_GT(driver_.window().next_frame_in(), 1e6) << "nothing changes by itself: no frame is asked for";
}

class ListTest : public TranscriptTest {};

TEST_F(ListTest, OpensSearchesRenamesAndDeletes) {
    ASSERT_TRUE(driver_.click("Tide tables")) << driver_.seen();
    ASSERT_NE(taken<action::OpenConversation>(), nullptr);
    driver_.press(ImGuiMod_Ctrl | ImGuiKey_F);
    driver_.type("tide");
    const auto* search = taken<action::SearchConversations>();
    ASSERT_NE(search, nullptr);
    EXPECT_EQ(search->query, "tide");

    ASSERT_TRUE(driver_.hover("Repository tour"));
    ASSERT_TRUE(driver_.click("##more-5")) << driver_.seen();
    ASSERT_TRUE(driver_.click("Rename")) << driver_.seen();
    driver_.type("Another name");
    driver_.press(ImGuiKey_Enter);
    const auto* renamed = taken<action::RenameConversation>();
    ASSERT_NE(renamed, nullptr);
    EXPECT_EQ(renamed->title, "Another name");

    driver_.hover("Repository tour");
    ASSERT_TRUE(driver_.click("##more-5"));
    ASSERT_TRUE(driver_.click("Delete"));
    EXPECT_NE(taken<action::DeleteConversation>(), nullptr);
    driver_.state().conversations.deleted = ConversationsState::Deleted{5, "Repository tour"};
    driver_.frames();
    ASSERT_TRUE(driver_.click("Undo"));
    EXPECT_NE(taken<action::RestoreConversation>(), nullptr);
}

}  // namespace
}  // namespace octavo
