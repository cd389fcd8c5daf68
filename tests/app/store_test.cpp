// The conversation store: what is written comes back, also after it was closed.
#include "app/store/store.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "app/store/message_tree.h"
#include "app/store/title.h"
#include "tests/support/store_samples.h"
#include "tests/support/temporary_folder.h"

namespace octavo {
namespace {

constexpr int64_t kDayMs = 24 * 60 * 60 * 1000;

// CJK, Arabic, Devanagari with marks, a letter with a combining mark and its precomposed twin, an emoji of four people
// joined, a flag, a skin tone.
const char* const kManyScripts =
    "船长 船長 センチ 한국어 مرحبا بالعالم क्षि e\xcc\x81 \xc3\xa9 "
    "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa9\xe2\x80\x8d"
    "\xf0\x9f\x91\xa7\xe2\x80\x8d\xf0\x9f\x91\xa6 \xf0\x9f\x87\xaf\xf0\x9f\x87\xb5 \xf0\x9f\x91\x8d\xf0\x9f\x8f\xbd";

std::vector<std::string> shown_texts(Store& store, int64_t conversation_id) {
    const StoredConversation whole = value_of(store.conversation(conversation_id));
    std::vector<std::string> texts;
    for (const StoredMessage* message : shown_messages(whole)) texts.push_back(message->text);
    return texts;
}

class StoreTest : public testing::Test {
  protected:
    StoreTest() { reopen(); }
    void reopen() {
        store_.reset();
        StoreOptions options;
        options.file = folder_ / "conversations.db";
        options.now_ms = [this] { return now_ms_; };
        store_ = open_store(options);
        ASSERT_NE(store_, nullptr);
        EXPECT_EQ(store_->access(), StoreAccess::full);
        EXPECT_TRUE(store_->notices().empty()) << store_->notices().front();
    }

    TemporaryFolder folder_;
    int64_t now_ms_ = 1'000'000'000'000;
    std::unique_ptr<Store> store_;
};

TEST_F(StoreTest, KeepsAConversationWhole) {
    Settings settings;
    settings.set_text("system_prompt", "Be brief.");
    settings.set_number("temperature", 0.5);
    const int64_t id = value_of(store_->create_conversation(settings));
    StoredMessage question = user_message(kManyScripts);
    question.attachments = {{"book.txt", "Call me Ishmael."}, {"note.txt", kManyScripts}};
    const int64_t question_id = value_of(store_->add_message(id, question));
    const int64_t reply_id = value_of(store_->begin_reply(id, question_id));
    expect_ok(store_->append_reply(reply_id, {"The ", "Hm", {1, 2}}));
    expect_ok(store_->append_reply(reply_id, {"captain", "", {-3}}));
    FinishedReply reply;
    reply.text = " The captain\n";
    reply.thinking = "Hm";
    reply.ids = {1, 2, -3, 151645};
    reply.with_thinking = false;
    reply.figures.reused_tokens = 17;
    reply.figures.decode_seconds = 0.25;
    reply.figures.scheme = "q4_0";
    expect_ok(store_->finish_reply(reply_id, reply));

    reopen();
    const std::vector<ConversationSummary> list = value_of(store_->conversations());
    ASSERT_EQ(list.size(), 1u);
    EXPECT_EQ(list[0].id, id);
    const StoredConversation whole = value_of(store_->conversation(id));
    EXPECT_TRUE(whole.problems.empty());
    EXPECT_EQ(whole.settings, settings);
    ASSERT_EQ(whole.messages.size(), 2u);
    EXPECT_EQ(whole.messages[0].text, kManyScripts);
    EXPECT_EQ(whole.messages[0].attachments, question.attachments);
    EXPECT_EQ(whole.messages[0].created_ms, now_ms_);
    const StoredMessage& stored = whole.messages[1];
    EXPECT_EQ(stored.parent_id, question_id);
    EXPECT_EQ(stored.role, Role::assistant);
    EXPECT_EQ(stored.state, MessageState::complete);
    EXPECT_EQ(stored.text, reply.text);
    EXPECT_EQ(stored.thinking, reply.thinking);
    EXPECT_EQ(stored.ids, reply.ids);
    EXPECT_FALSE(stored.with_thinking);
    EXPECT_EQ(stored.figures, reply.figures);
}

TEST_F(StoreTest, TextsWithAnyBytesComeBackExactly) {
    std::string bytes;
    for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
    const int64_t id = value_of(store_->create_conversation());
    expect_ok(store_->add_message(id, user_message(bytes)));
    reopen();
    EXPECT_EQ(shown_texts(*store_, id), std::vector<std::string>{bytes});
}

TEST_F(StoreTest, AReplyInTheMiddleOfACrashIsAStoppedOne) {
    const int64_t id = value_of(store_->create_conversation());
    const int64_t question = value_of(store_->add_message(id, user_message("Who?")));
    const int64_t reply = value_of(store_->begin_reply(id, question));
    expect_ok(store_->append_reply(reply, {"Orla, ", "thought", {5}}));
    expect_ok(store_->append_reply(reply, {"the harbour master", "", {6, 7}}));
    EXPECT_EQ(shown_texts(*store_, id).back(), "Orla, the harbour master") << "readable while it comes";
    reopen();
    const StoredConversation whole = value_of(store_->conversation(id));
    const StoredMessage& stored = whole.messages.back();
    EXPECT_EQ(stored.state, MessageState::stopped);
    EXPECT_EQ(stored.text, "Orla, the harbour master");
    EXPECT_EQ(stored.thinking, "thought");
    EXPECT_EQ(stored.ids, (std::vector<int32_t>{5, 6, 7}));
    EXPECT_FALSE(store_->append_reply(reply, {"more", "", {}})) << "it has ended";
    EXPECT_EQ(value_of(store_->search("harbour master")).hits.size(), 1u) << "and can be found";
}

TEST_F(StoreTest, BranchesAreKeptAndTheShownPathIsRemembered) {
    const int64_t id = value_of(store_->create_conversation());
    const int64_t first = value_of(store_->add_message(id, user_message("one")));
    const int64_t reply_a = value_of(store_->add_message(id, reply_message("a", first)));
    const int64_t second = value_of(store_->add_message(id, user_message("two", reply_a)));
    expect_ok(store_->add_message(id, reply_message("c", second)));
    const int64_t reply_b = value_of(store_->add_message(id, reply_message("b", first)));  // regenerated
    EXPECT_EQ(shown_texts(*store_, id), (std::vector<std::string>{"one", "b"}));
    expect_ok(store_->show_message(reply_a));
    reopen();
    EXPECT_EQ(shown_texts(*store_, id), (std::vector<std::string>{"one", "a", "two", "c"}));
    EXPECT_EQ(alternatives(value_of(store_->conversation(id)), reply_b), (std::vector<int64_t>{reply_a, reply_b}));
    const int64_t edited = value_of(store_->add_message(id, user_message("ONE")));
    EXPECT_EQ(shown_texts(*store_, id), (std::vector<std::string>{"ONE"}));
    expect_ok(store_->show_message(second));
    EXPECT_EQ(shown_texts(*store_, id), (std::vector<std::string>{"one", "a", "two", "c"}));
    expect_ok(store_->delete_branch(reply_a));
    EXPECT_EQ(shown_texts(*store_, id), (std::vector<std::string>{"one", "b"}));
    expect_ok(store_->delete_branch(first));
    EXPECT_EQ(shown_texts(*store_, id), (std::vector<std::string>{"ONE"}));
    EXPECT_EQ(value_of(store_->conversation(id)).messages.size(), 1u);
    EXPECT_FALSE(store_->show_message(first));
    EXPECT_FALSE(store_->add_message(id, reply_message("late", first))) << "its question was deleted";
    EXPECT_FALSE(store_->add_message(value_of(store_->create_conversation()), reply_message("x", edited)))
        << "of another conversation";
}

TEST_F(StoreTest, TheFirstMessageGivesTheTitle) {
    const auto title = [&](int64_t id) { return value_of(store_->conversation(id)).summary.title; };
    const int64_t id = value_of(store_->create_conversation());
    const int64_t first = value_of(store_->add_message(id, user_message("\n  Who is\n the captain? ")));
    EXPECT_EQ(title(id), "Who is the captain?");
    expect_ok(store_->add_message(id, user_message("Another", first)));
    EXPECT_EQ(title(id), "Who is the captain?");
    expect_ok(store_->rename_conversation(id, "Ships"));
    EXPECT_EQ(title(id), "Ships");
    EXPECT_TRUE(value_of(store_->conversations()).front().titled_by_person);
    expect_ok(store_->rename_conversation(id, ""));
    EXPECT_EQ(title(id), "Who is the captain?");
    const int64_t named = value_of(store_->create_conversation({}, "Mine"));
    expect_ok(store_->add_message(named, user_message("Hello")));
    EXPECT_EQ(title(named), "Mine");
    StoredMessage file_only = user_message("");
    file_only.attachments = {{"book.txt", "text"}};
    const int64_t document = value_of(store_->create_conversation());
    expect_ok(store_->add_message(document, file_only));
    EXPECT_EQ(title(document), "book.txt");
    EXPECT_FALSE(store_->rename_conversation(999, "x"));
}

TEST_F(StoreTest, DeletingCanBeUndoneForAWhile) {
    const int64_t id = value_of(store_->create_conversation());
    StoredMessage message = user_message("keep me");
    message.attachments = {{"a", "only here"}};
    expect_ok(store_->add_message(id, message));
    expect_ok(store_->trash_conversation(id));
    EXPECT_TRUE(value_of(store_->conversations()).empty());
    EXPECT_TRUE(value_of(store_->search("keep")).hits.empty());
    ASSERT_EQ(value_of(store_->conversations(true)).size(), 1u);
    EXPECT_EQ(value_of(store_->conversations(true))[0].deleted_ms, now_ms_);
    expect_ok(store_->restore_conversation(id));
    EXPECT_EQ(shown_texts(*store_, id), std::vector<std::string>{"keep me"});

    expect_ok(store_->trash_conversation(id));
    now_ms_ += Store::kTrashDays * kDayMs - 1;
    reopen();
    EXPECT_EQ(value_of(store_->conversations(true)).size(), 1u);
    now_ms_ += 1;
    reopen();
    EXPECT_TRUE(value_of(store_->conversations(true)).empty());
    EXPECT_FALSE(store_->conversation(id));
    EXPECT_NE(value_of(store_->create_conversation()), id) << "an id is never used again";
}

TEST_F(StoreTest, DraftsStayUntilTheyAreSent) {
    const int64_t id = value_of(store_->create_conversation());
    const Draft draft{"half a thou", {{"a.txt", "A"}, {"b.txt", "B"}}};
    const Draft of_new{"for a new one", {}};
    expect_ok(store_->save_draft(id, {"half", {}}));
    expect_ok(store_->save_draft(id, draft));
    expect_ok(store_->save_draft(0, of_new));
    reopen();
    EXPECT_EQ(value_of(store_->draft(id)), draft);
    EXPECT_EQ(value_of(store_->draft(0)), of_new);
    expect_ok(store_->add_message(id, user_message("half a thought")));
    EXPECT_TRUE(value_of(store_->draft(id)).empty());
    expect_ok(store_->save_draft(0, {}));
    EXPECT_TRUE(value_of(store_->draft(0)).empty());
}

TEST_F(StoreTest, SettingsKeepTheirTypes) {
    Settings settings;
    settings.set_flag("dark", true);
    settings.set_integer("width", 1280);
    settings.set_number("scale", 1.5);
    settings.set_text("theme", "Dämmerung \"1\"");
    settings.set_texts("recent_files", {"a.gguf", "b c.gguf"});
    settings.set_json("of_a_newer_octavo", R"({"x":[1,2]})");
    expect_ok(store_->save_settings(settings));
    Settings change;
    change.set_integer("width", 640);
    expect_ok(store_->save_settings(change));
    reopen();
    const Settings read = value_of(store_->settings());
    EXPECT_EQ(read.flag("dark"), true);
    EXPECT_EQ(read.integer("width"), 640);
    EXPECT_EQ(read.number("scale"), 1.5);
    EXPECT_EQ(read.number("width"), 640.0);
    EXPECT_EQ(read.text("theme"), "Dämmerung \"1\"");
    EXPECT_EQ(read.texts("recent_files"), (std::vector<std::string>{"a.gguf", "b c.gguf"}));
    EXPECT_EQ(read.values().at("of_a_newer_octavo"), R"({"x":[1,2]})");
    EXPECT_EQ(read.integer("theme"), std::nullopt) << "of another type";
    EXPECT_EQ(read.text("missing"), std::nullopt);
}

TEST_F(StoreTest, RecallRunsAreListedNewestFirst) {
    const RecallRun run{{0, 5000, "pocket", "q4_0", 4096, 32768}, R"({"runs":[]})"};
    const int64_t older = value_of(store_->add_recall_run(run));
    RecallRun newer = run;
    newer.summary.created_ms = 0;  // now
    expect_ok(store_->add_recall_run(newer));
    reopen();
    const std::vector<RecallRunSummary> runs = value_of(store_->recall_runs());
    ASSERT_EQ(runs.size(), 2u);
    EXPECT_EQ(runs[0].created_ms, now_ms_);
    EXPECT_EQ(runs[1].id, older);
    EXPECT_EQ(runs[1].scheme, "q4_0");
    EXPECT_EQ(runs[1].max_length, 32768);
    EXPECT_EQ(value_of(store_->recall_run(older)).report, run.report);
    expect_ok(store_->delete_recall_run(older));
    EXPECT_FALSE(store_->recall_run(older));
}

TEST(StoreInMemory, KeepsNothingAndSaysSo) {
    const std::unique_ptr<Store> store = open_store(StoreOptions{});
    ASSERT_NE(store, nullptr);
    EXPECT_EQ(store->access(), StoreAccess::temporary);
    const int64_t id = value_of(store->create_conversation());
    expect_ok(store->add_message(id, user_message("hello there")));
    EXPECT_EQ(value_of(store->search("there")).hits.size(), 1u);
}

TEST(MessageTree, PromptHasAttachmentsFirstAndNoEmptyReplies) {
    StoredConversation whole;
    whole.settings.set_text("system_prompt", "Be brief.");
    StoredMessage question = user_message("Who?");
    question.id = 1;
    question.attachments = {{"a", "first"}, {"b", "second"}};
    StoredMessage stopped = reply_message("", 1);
    stopped.id = 2;
    StoredMessage again = user_message("Well?", 2);
    again.id = 3;
    StoredMessage reply = reply_message("Orla", 3);
    reply.id = 4;
    reply.ids = {9};
    reply.figures.model = "pocket";
    whole.messages = {question, stopped, again, reply};
    const std::vector<Message> prompt = prompt_messages(whole, "pocket");
    ASSERT_EQ(prompt.size(), 4u);
    EXPECT_EQ(prompt[0].role, Role::system);
    EXPECT_EQ(prompt[1].content, "first\n\nsecond\n\nWho?");
    EXPECT_EQ(prompt[1].attached_bytes, 13u);
    EXPECT_EQ(prompt[2].content, "Well?");
    EXPECT_EQ(prompt[3].ids, std::vector<int32_t>{9});
    EXPECT_TRUE(prompt_messages(whole, "another")[3].ids.empty()) << "another model's tokens";
}

TEST(MessageTree, DamagedTreesAreFollowedAsFarAsTheyMakeSense) {
    StoredConversation whole;
    const auto add = [&](int64_t id, int64_t parent_id, int64_t shown_child_id) {
        StoredMessage message = user_message(std::to_string(id), parent_id);
        message.id = id;
        message.shown_child_id = shown_child_id;
        whole.messages.push_back(message);
    };
    add(1, 1, 0);  // its own parent
    add(2, 3, 0);  // a loop with 3
    add(3, 2, 2);
    add(4, 77, 99);  // of a message that is lost
    add(5, 4, 0);
    std::vector<int64_t> ids;
    for (const StoredMessage* message : shown_messages(whole)) ids.push_back(message->id);
    EXPECT_EQ(ids, (std::vector<int64_t>{4, 5}));
    EXPECT_EQ(alternatives(whole, 4), (std::vector<int64_t>{1, 2, 4}));
}

TEST(Title, IsCutAfterAWordAndNeverInsideACharacter) {
    EXPECT_EQ(title_from(" \n\t "), "");
    EXPECT_EQ(title_from("short"), "short");
    const std::string words = "Please tell me everything about the lighthouse of the old harbour and about its keepers";
    EXPECT_EQ(title_from(words), "Please tell me everything about the lighthouse of the old…");
    std::string chinese;
    for (int i = 0; i < 50; ++i) chinese += "船";
    EXPECT_EQ(title_from(chinese), chinese.substr(0, 90) + "…");
    const std::string family = "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7";  // two people joined: 11 bytes
    std::string families;
    for (int i = 0; i < 60; ++i) families += family;
    EXPECT_EQ((title_from(families).size() - 3) % family.size(), 0u);
    std::string accents;
    for (int i = 0; i < 100; ++i) accents += "e\xcc\x81";
    EXPECT_EQ((title_from(accents).size() - 3) % 3, 0u);
}

}  // namespace
}  // namespace octavo
