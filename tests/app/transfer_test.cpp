// Conversations out of the store and back: nothing is lost, and files that are wrong are refused.
#include "app/store/transfer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "app/chat/message_file.h"
#include "app/store/message_tree.h"
#include "tests/support/store_samples.h"

namespace octavo {
namespace {

StoredConversation sample() {
    StoredConversation whole;
    whole.summary.title = "船长 \xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7 e\xcc\x81 مرحبا";
    whole.summary.titled_by_person = true;
    whole.summary.created_ms = 1000;
    whole.summary.updated_ms = 2000;
    whole.settings.set_text("system_prompt", "Be brief.");
    whole.settings.set_number("temperature", 0.25);
    whole.shown_root_id = 4;
    StoredMessage question = user_message("क्षि\r\n\ttext\n");
    question.id = 4;
    question.created_ms = 1100;
    question.shown_child_id = 7;
    question.attachments = {{"a.txt", "the same"}, {"b.txt", "the same"}, {"c.txt", "other"}};
    StoredMessage bytes = reply_message(std::string("broken \xff\xfe \0 text", 14), 4);
    bytes.id = 7;
    bytes.created_ms = 1200;
    bytes.state = MessageState::stopped;
    bytes.thinking = "Hm…";
    bytes.ids = {1, -5, 248319};
    bytes.with_thinking = false;
    bytes.figures.prompt_tokens = 12;
    bytes.figures.decode_seconds = 0.1;
    bytes.figures.note = "The context is full.";
    StoredMessage other = reply_message("another reply", 4);
    other.id = 9;
    other.created_ms = 1300;
    StoredMessage edited = user_message("edited");
    edited.id = 12;
    edited.created_ms = 1400;
    whole.messages = {question, bytes, other, edited};
    return whole;
}

void expect_same(const StoredConversation& a, const StoredConversation& b) {
    EXPECT_EQ(a.summary.title, b.summary.title);
    EXPECT_EQ(a.summary.titled_by_person, b.summary.titled_by_person);
    EXPECT_EQ(a.summary.created_ms, b.summary.created_ms);
    EXPECT_EQ(a.summary.updated_ms, b.summary.updated_ms);
    EXPECT_EQ(a.settings, b.settings);
    ASSERT_EQ(a.messages.size(), b.messages.size());
    for (size_t i = 0; i < a.messages.size(); ++i) {
        const StoredMessage& m = a.messages[i];
        const StoredMessage& n = b.messages[i];
        EXPECT_EQ(m.role, n.role);
        EXPECT_EQ(m.state, n.state);
        EXPECT_EQ(m.text, n.text);
        EXPECT_EQ(m.thinking, n.thinking);
        EXPECT_EQ(m.ids, n.ids);
        EXPECT_EQ(m.with_thinking, n.with_thinking);
        EXPECT_EQ(m.attachments, n.attachments);
        EXPECT_EQ(m.figures, n.figures);
        EXPECT_EQ(m.created_ms, n.created_ms);
    }
    const auto shown_a = shown_messages(a), shown_b = shown_messages(b);
    ASSERT_EQ(shown_a.size(), shown_b.size());
    for (size_t i = 0; i < shown_a.size(); ++i) EXPECT_EQ(shown_a[i]->text, shown_b[i]->text);
}

TEST(Transfer, JsonLosesNothing) {
    const std::string json = conversations_to_json({sample(), sample()});
    const auto back = conversations_from_json(json);
    ASSERT_TRUE(back) << back.error().message;
    ASSERT_EQ(back->size(), 2u);
    expect_same(sample(), (*back)[0]);
    EXPECT_EQ(conversations_to_json(*back), json);
}

TEST(Transfer, ThroughTheStoreAndBackLosesNothing) {
    const std::unique_ptr<Store> store = open_store(StoreOptions{});
    const int64_t first = value_of(store->add_conversation(sample()));
    const StoredConversation read = value_of(store->conversation(first));
    expect_same(sample(), read);
    const auto file = conversations_from_json(conversations_to_json({read}));
    ASSERT_TRUE(file) << file.error().message;
    const int64_t second = value_of(store->add_conversation((*file)[0]));
    EXPECT_NE(second, first);
    expect_same(read, value_of(store->conversation(second)));
}

TEST(Transfer, ReadsWhatAChatSaves) {
    const auto back = conversations_from_json(
        R"({"messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "Who is it?"},
            {"role": "assistant", "content": "Orla", "reasoning_content": "Hm"}]})");
    ASSERT_TRUE(back) << back.error().message;
    const StoredConversation& whole = back->at(0);
    EXPECT_EQ(whole.summary.title, "Who is it?");
    EXPECT_EQ(whole.settings.text("system_prompt"), "S");
    ASSERT_EQ(shown_messages(whole).size(), 2u);
    EXPECT_EQ(shown_messages(whole)[1]->thinking, "Hm");
}

TEST(Transfer, TheDocumentsOfAChatAreAttachmentsAgain) {
    Message question{.content = "A long report.\n\nWho is it?"};
    question.attached_bytes = 14;
    const auto back = conversations_from_json(messages_json({question}));
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(back->at(0).summary.title, "Who is it?");
    const StoredMessage& message = back->at(0).messages.at(0);
    EXPECT_EQ(message.text, "Who is it?");
    ASSERT_EQ(message.attachments.size(), 1u);
    EXPECT_EQ(message.attachments[0].text, "A long report.");
    // A place that is none is not believed.
    for (const char* fields :
         {R"("role": "user", "attached_bytes": 99)", R"("role": "user", "attached_bytes": -1)",
          R"("role": "user", "attached_bytes": 2)", R"("role": "user", "attached_bytes": "1")",
          R"("role": "user", "attached_bytes": 1)", R"("role": "assistant", "attached_bytes": 5)"}) {
        const auto wrong =
            conversations_from_json(fmt::format(R"({{"messages": [{{"content": "Käse", {}}}]}})", fields));
        ASSERT_TRUE(wrong) << fields;
        EXPECT_EQ(wrong->at(0).messages.at(0).text, "Käse") << fields;
    }
}

TEST(Transfer, WrongFilesAreRefusedWithTheReason) {
    const auto refused = [](const std::string& json, const char* reason) {
        const auto back = conversations_from_json(json);
        ASSERT_FALSE(back) << json;
        EXPECT_NE(back.error().message.find(reason), std::string::npos) << back.error().message;
    };
    const auto message = [](const std::string& fields) {
        return R"({"octavo_conversations": 1, "conversations": [{"messages": [{)" + fields + "}]}]}";
    };
    refused("hello", "not JSON");
    refused("[]{}", "not JSON");
    refused(R"({"octavo_conversations": 9, "conversations": []})", "version 9");
    refused(R"({"octavo_conversations": 1, "conversations": [3]})", "no list of messages");
    refused(message(R"("id": 1, "role": "wizard", "text": "x")"), "unknown role 'wizard'");
    refused(message(R"("id": 1, "role": "user", "state": "odd", "text": "x")"), "unknown state");
    refused(message(R"("id": 1, "role": "user")"), "has no text");
    refused(message(R"("id": 1, "role": "user", "text": {"bytes": "abc"})"), "has no text");
    refused(message(R"("id": 0, "role": "user", "text": "x")"), "not positive");
    refused(message(R"("id": 1, "role": "user", "text": "x"}, {"id": 1, "role": "user", "text": "y")"), "two messages");
    refused(message(R"("id": 1, "role": "user", "text": "x", "attachments": [{"name": "a", "file": 0}])"), "no file");
    refused(message(R"("id": 1, "role": "assistant", "text": "x", "ids": [4294967296])"), "32-bit");
    refused(message(R"("id": 1, "role": "assistant", "text": "x", "ids": ["a"])"), "32-bit");
}

TEST(Transfer, DeepValuesDoNotHarm) {
    const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
    const auto back = conversations_from_json(R"({"octavo_conversations": 1, "conversations": [{"messages": [],
        "settings": {"x": )" + deep + "}}]}");
    ASSERT_TRUE(back) << back.error().message;
}

TEST(Transfer, MarkdownShowsTheShownPath) {
    const std::string page = conversation_to_markdown(sample());
    EXPECT_TRUE(page.starts_with("# 船长")) << page;
    EXPECT_NE(page.find("Be brief."), std::string::npos);
    EXPECT_NE(page.find("<summary>a.txt</summary>"), std::string::npos);
    EXPECT_NE(page.find("## Reply (stopped)"), std::string::npos);
    EXPECT_NE(page.find("Hm…"), std::string::npos);
    EXPECT_EQ(page.find("another reply"), std::string::npos);
    StoredConversation fences;
    StoredMessage message = user_message("look");
    message.id = 1;
    message.attachments = {{"x<y>.md", "```cpp\nint a;\n```` four"}};
    fences.messages = {message};
    fences.summary.created_ms = INT64_MAX;
    const std::string fenced = conversation_to_markdown(fences);
    EXPECT_NE(fenced.find("\n`````\n```cpp"), std::string::npos) << fenced;
    EXPECT_NE(fenced.find("x&lt;y>.md"), std::string::npos);
    EXPECT_NE(fenced.find("9999-12-31"), std::string::npos);
}

}  // namespace
}  // namespace octavo
