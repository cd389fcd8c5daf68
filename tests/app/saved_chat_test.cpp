// `octavo chat` with what it saves: the tree behind regenerated replies and edited questions, going on later.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/chat/conversation_recorder.h"
#include "app/chat/reply_view.h"
#include "app/store/message_tree.h"
#include "tests/support/failing_disk.h"
#include "tests/support/process_platform.h"
#include "tests/support/store_samples.h"
#include "tests/support/temporary_folder.h"

namespace octavo {
namespace {

using nlohmann::json;

const char* const kFact = "The access code of the lighthouse is QUARTZ-DELTA-8813.";
const char* const kQuestion = "What is the access code of the lighthouse?";

class SavedChat : public testing::Test {
  protected:
    std::vector<std::string> command(std::vector<std::string> arguments) const {
        arguments.insert(arguments.begin(), {OCTAVO_PROGRAM, "chat", "--store", file_.string()});
        return arguments;
    }
    json chat(std::vector<std::string> arguments) const {
        arguments.push_back("--json");
        const ProcessResult result = run_process(command(std::move(arguments)));
        EXPECT_EQ(result.exit_code, 0) << result.errors;
        return json::parse(result.output, nullptr, false);
    }
    StoredConversation saved(int64_t id) const { return value_of(open_store(file_)->conversation(id)); }

    TemporaryFolder folder_;
    std::filesystem::path file_ = folder_ / "conversations.db";
};

TEST_F(SavedChat, ScriptsAreSavedWhenAskedAndCanBeGoneOnWith) {
    const json plain = chat({"-p", kFact});
    EXPECT_FALSE(plain.contains("conversation"));
    EXPECT_FALSE(std::filesystem::exists(file_));

    const json first = chat({"--save", "--system", "Be brief.", "-p", kFact, "-p", kQuestion, "-p", "/regen"});
    ASSERT_TRUE(first.contains("conversation"));
    const int64_t id = first["conversation"];
    StoredConversation whole = saved(id);
    EXPECT_TRUE(whole.summary.title.starts_with("The access code of the lighthouse")) << whole.summary.title;
    EXPECT_EQ(whole.settings.text("system_prompt"), "Be brief.");
    ASSERT_EQ(whole.messages.size(), 5u);
    EXPECT_EQ(alternatives(whole, whole.messages[4].id).size(), 2u) << "the regenerated reply is a branch";
    std::vector<const StoredMessage*> shown = shown_messages(whole);
    ASSERT_EQ(shown.size(), 4u);
    EXPECT_EQ(without_leading_space(shown[3]->text), first["text"].get<std::string>());
    EXPECT_EQ(json(shown[3]->ids), first["ids"]);
    EXPECT_EQ(shown[3]->figures.scheme, "f16");
    EXPECT_EQ(shown[3]->state, MessageState::complete);

    const std::string number = std::to_string(id);
    const json second = chat({"--resume", number, "-p", kQuestion});
    EXPECT_EQ(second["conversation"], id);
    EXPECT_NE(second["text"].get<std::string>().find("QUARTZ-DELTA-8813"), std::string::npos) << second["text"];
    const json unsaved = chat({"--resume", number, "--no-save", "-p", "/edit 1 Forget it."});
    EXPECT_FALSE(unsaved.contains("conversation"));
    EXPECT_EQ(saved(id).messages.size(), 7u);
    const json edited = chat({"--resume", number, "-p", "/edit 2 Hello?"});
    whole = saved(id);
    EXPECT_EQ(whole.messages.size(), 9u);
    shown = shown_messages(whole);
    ASSERT_EQ(shown.size(), 4u);
    EXPECT_EQ(shown[2]->text, "Hello?");
    EXPECT_EQ(shown[0]->text, kFact);
}

TEST_F(SavedChat, DocumentsAreAttachments) {
    const std::filesystem::path document = folder_ / "document.txt";
    std::ofstream(document) << kFact;
    const json reply = chat({"--save", "-f", document.string(), "-p", kQuestion});
    const StoredConversation whole = saved(reply["conversation"]);
    ASSERT_EQ(whole.messages.size(), 2u);
    EXPECT_EQ(whole.messages[0].text, kQuestion);
    ASSERT_EQ(whole.messages[0].attachments.size(), 1u);
    EXPECT_EQ(whole.messages[0].attachments[0].text, kFact);
    EXPECT_EQ(prompt_message(whole.messages[0], "").content, std::string(kFact) + "\n\n" + kQuestion);
}

TEST_F(SavedChat, WhatCannotBeGoneOnWithIsRefused) {
    const ProcessResult missing = run_process(command({"--resume", "7", "-p", "x"}));
    EXPECT_EQ(missing.exit_code, 2);
    EXPECT_NE(missing.errors.find("no conversation 7"), std::string::npos) << missing.errors;
    const std::unique_ptr<Store> other = open_store(file_);
    const ProcessResult told = run_process(command({"--save", "-p", kFact}));
    EXPECT_EQ(told.exit_code, 2) << "saving was asked for";
    EXPECT_NE(told.errors.find("nothing is saved"), std::string::npos) << told.errors;
}

TEST_F(SavedChat, AConversationInTheTrashIsRestoredFirst) {
    const std::string id = [&] {
        const std::unique_ptr<Store> store = open_store(file_);
        const int64_t created = value_of(store->create_conversation());
        expect_ok(store->add_message(created, user_message(kFact)));
        expect_ok(store->trash_conversation(created));
        return std::to_string(created);
    }();
    const ProcessResult refused = run_process(command({"--resume", id, "-p", kQuestion}));
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_NE(refused.errors.find("'octavo conversations restore " + id + "'"), std::string::npos) << refused.errors;
}

// A limit on the size of files stands for a full disk: there is room to open the store, and for a message or two.
TEST_F(SavedChat, WhatCouldNotBeSavedIsNotCalledSaved) {
    (void)open_store(file_);
    std::vector<std::string> limited = {"/bin/sh", "-c", "trap '' XFSZ; ulimit -f 96; exec \"$@\"", "sh"};
    for (const std::string& argument : command({"--save"})) limited.push_back(argument);
    for (int i = 0; i < 8; ++i) limited.insert(limited.end(), {"-p", kFact});
    const ProcessResult result = run_process(limited);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(result.errors.find("saved as conversation"), std::string::npos) << result.errors;
    EXPECT_NE(result.errors.find("not all that was said could be saved"), std::string::npos) << result.errors;
}

TEST_F(SavedChat, AConversationAtATerminalIsSaved) {
    TerminalProcess terminal(command({}));
    ASSERT_TRUE(terminal.wait_for("> ")) << terminal.seen();
    terminal.type(std::string(kFact) + "\r");
    ASSERT_TRUE(terminal.wait_for("decoded")) << terminal.seen();
    ASSERT_TRUE(terminal.wait_for("> ")) << terminal.seen();
    terminal.type("/clear\r");
    ASSERT_TRUE(terminal.wait_for("the conversation is empty")) << terminal.seen();
    terminal.type("Another conversation\r");
    ASSERT_TRUE(terminal.wait_for("decoded")) << terminal.seen();
    terminal.type("\x04");
    ASSERT_TRUE(terminal.wait_for("saved as conversation 2")) << terminal.seen();
    EXPECT_EQ(terminal.exit_code(), 0);
    EXPECT_EQ(shown_messages(saved(1)).size(), 2u);
    EXPECT_EQ(saved(2).summary.title, "Another conversation");
}

// Without an engine: what the chat tells the recorder.
TEST(ConversationRecorder, KnowsWhenTheDiskWasFull) {
    const TemporaryFolder folder;
    FailingDisk disk;
    StoreOptions options;
    options.file = folder / "conversations.db";
    options.vfs = disk.name();
    StoreThread store(options);
    std::vector<std::string> complaints;
    ConversationRecorder recorder(store, "pocket", [&](const std::string& words) { complaints.push_back(words); });
    recorder.reply_begins({{Role::user, "one"}}, false);
    EXPECT_TRUE(recorder.all_kept());
    disk.set_free_bytes(0);
    recorder.reply_ends(GenerationReport());
    recorder.finish();
    EXPECT_FALSE(recorder.all_kept());
    ASSERT_EQ(complaints.size(), 1u);
    EXPECT_NE(complaints[0].find("disk is full"), std::string::npos) << complaints[0];
}

TEST(ConversationRecorder, WhatIsTakenBackStaysAsABranch) {
    const TemporaryFolder folder;
    StoreOptions options;
    options.file = folder / "conversations.db";
    StoreThread store(options);
    std::vector<std::string> complaints;
    ConversationRecorder recorder(store, "pocket", [&](const std::string& words) { complaints.push_back(words); });
    const Message first{Role::user, "one"};
    GenerationReport stopped;
    stopped.stop = StopReason::cancelled;
    recorder.reply_begins({first}, true);
    recorder.reply_ends(stopped);
    GenerationReport reply;
    reply.text = " two";
    reply.ids = {1, 2};
    recorder.reply_begins({{Role::user, "ONE"}}, false);
    recorder.reply_grows({" two", "", {1, 2}, false});
    recorder.reply_ends(reply);
    recorder.reply_begins({{Role::user, "ONE"}, {Role::assistant, " two"}, {Role::user, "three"}}, false);
    recorder.reply_ends(Result<GenerationReport>(Error{ErrorKind::context_full, "The context is full."}));
    const int64_t id = recorder.finish();
    EXPECT_TRUE(complaints.empty());
    const StoredConversation whole = value_of(store.ask([&](Store& opened) { return opened.conversation(id); }).get());
    std::vector<std::string> texts;
    for (const StoredMessage* message : shown_messages(whole)) texts.push_back(message->text);
    EXPECT_EQ(texts, (std::vector<std::string>{"ONE", " two", "three", ""}));
    EXPECT_EQ(whole.messages.size(), 6u);
    const StoredMessage& failed = whole.messages.back();
    EXPECT_EQ(failed.state, MessageState::failed);
    EXPECT_EQ(failed.figures.note, "The context is full.");
    const StoredMessage& kept = whole.messages[3];
    EXPECT_EQ(kept.figures.model, "pocket");
    EXPECT_EQ(kept.ids, reply.ids);
    EXPECT_FALSE(kept.with_thinking);
}

}  // namespace
}  // namespace octavo
