// Replies split into reasoning and content, whole and in pieces.
#include <gtest/gtest.h>
#include <random>
#include <string>

#include "models/chat/reply_parser.h"
#include "models/chat/text_trim.h"

namespace octavo {
namespace {

constexpr ChatDialect plain = {.name = "plain"};
constexpr ChatDialect opened = {
    .name = "opened", .thinking = true, .opening = "<think>\n", .opening_without_thinking = "<think>\n\n</think>\n\n"};
constexpr ChatDialect unopened = {.name = "unopened", .thinking = true};

struct Case {
    const ChatDialect* dialect;
    bool thinking;
    const char* reply;
    const char* reasoning;
    const char* content;
};

const Case cases[] = {
    {&plain, true, " The answer.", "", "The answer."},
    {&plain, true, "\n\t\u3000 a  b \n\n c \n", "", "a  b \n\n c"},
    {&plain, true, "", "", ""},
    {&plain, true, " \n ", "", ""},
    {&plain, true, "<think>kept</think> as text", "", "<think>kept</think> as text"},
    {&opened, true, "first I\nthink\n</think>\n\nThen say.", "first I\nthink", "Then say."},
    {&opened, true, "\n  never ends ", "never ends", ""},
    {&opened, true, "</think>\n\nNothing thought.", "", "Nothing thought."},
    {&opened, true, "a < b </thin </think>c</think>d", "a < b </thin", "c</think>d"},
    {&opened, true, "cut off </thi", "cut off </thi", ""},
    {&opened, false, "Said at once.", "", "Said at once."},
    {&opened, false, "<think>again</think>said", "again", "said"},
    {&unopened, true, "<think>\nhm\n</think>\n\nsaid", "hm", "said"},
    {&unopened, true, " \n<think>hm</think>said", "hm", "said"},
    {&unopened, true, "<thin", "", "<thin"},
    {&unopened, true, "<thinker> is content", "", "<thinker> is content"},
    {&unopened, true, "said <think>not at the start</think>", "", "said <think>not at the start</think>"},
};

TEST(ChatReply, IsSplit) {
    for (const Case& item : cases) {
        const ReplyDelta whole = parse_reply(*item.dialect, item.thinking, item.reply);
        EXPECT_EQ(whole.reasoning, item.reasoning) << item.reply;
        EXPECT_EQ(whole.content, item.content) << item.reply;
    }
}

TEST(ChatReply, PiecesAddUpToTheWhole) {
    std::mt19937 random(1);
    for (const Case& item : cases)
        for (int round = 0; round < 50; ++round) {
            ReplyParser parser(*item.dialect, item.thinking);
            ReplyDelta whole;
            const auto add = [&](const ReplyDelta& delta) {
                whole.reasoning += delta.reasoning;
                whole.content += delta.content;
            };
            const std::string reply = item.reply;
            for (std::size_t at = 0; at < reply.size();) {
                std::size_t end = std::min(reply.size(), at + 1 + random() % 4);
                while (end < reply.size() && (reply[end] & 0xC0) == 0x80) ++end;
                add(parser.feed(std::string_view(reply).substr(at, end - at)));
                at = end;
            }
            add(parser.finish());
            ASSERT_EQ(whole.reasoning, item.reasoning) << reply;
            ASSERT_EQ(whole.content, item.content) << reply;
        }
}

const std::vector<std::string> weather_tools = {
    R"({"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties":
        {"city": {"type": "string"}, "days": {"type": "integer"}, "exact": {"type": "boolean"},
         "where": {"type": "object"}, "note": {"type": ["string", "null"]}}}}})"};

struct CallCase {
    const char* reply;
    const char* content;
    std::vector<ToolCall> calls;
};

const CallCase call_cases[] = {
    {"no call", "no call", {}},
    {"Let me look.\n\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Lyon\", \"days\": "
     "2}}\n</tool_call>",
     "Let me look.",
     {{"weather", R"({"city": "Lyon", "days": 2})"}}},
    {"<tool_call>{\"name\":\"a\",\"arguments\":{}}</tool_call>\n<tool_call>{\"name\":\"b\"}</tool_call>",
     "",
     {{"a", "{}"}, {"b", "{}"}}},
    {"<tool_call>{\"name\":\"a\",\"arguments\":\"{\\\"as\\\": \\\"text\\\"}\"}</tool_call>",
     "",
     {{"a", R"({"as": "text"})"}}},
    {"First.\n\n<tool_call>\n<function=weather>\n<parameter=city>\nLe Mans\n</parameter>\n<parameter=days>\n3\n"
     "</parameter>\n<parameter=exact>\nTrue\n</parameter>\n<parameter=where>\n{\"a\":[1,2]}\n</parameter>\n"
     "<parameter=unknown>\n7\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=now>\n</function>\n"
     "</tool_call>",
     "First.",
     {{"weather", R"({"city": "Le Mans", "days": 3, "exact": true, "where": {"a": [1, 2]}, "unknown": "7"})"},
      {"now", "{}"}}},
    // One newline at either end is the tags', the others are the value's; tags inside a value are text.
    {"<tool_call><function=weather><parameter=city>\n\n a\n<b>&amp;</b>\n</parameter> is "
     "text\n\n</parameter></function>"
     "</tool_call>",
     "",
     {{"weather", R"({"city": "\n a\n<b>&amp;</b>\n</parameter> is text\n"})"}}},
    {"<tool_call><function=weather><parameter=days>many</parameter><parameter=note>None</parameter></function></"
     "tool_call>",
     "",
     {{"weather", R"({"days": "many", "note": null})"}}},
    // What is no call stays visible.
    {"a <tool_call>not a call</tool_call> b", "a\n<tool_call>not a call</tool_call>\nb", {}},
    {"<tool_call>{\"name\": 7}</tool_call>", "<tool_call>{\"name\": 7}</tool_call>", {}},
    {"<tool_call>\n<function=f>\n<parameter=p>\nnever ends",
     "<tool_call>\n<function=f>\n<parameter=p>\nnever ends",
     {}},
    {"cut <tool_ca", "cut <tool_ca", {}},
    {"before <tool_call>{\"name\":\"f\"}</tool_call> after", "before\nafter", {{"f", "{}"}}},
};

TEST(ChatReply, CallsAreFoundWholeAndInPieces) {
    std::mt19937 random(2);
    for (const CallCase& item : call_cases) {
        const std::string reply = item.reply;
        for (int round = 0; round < 30; ++round) {
            ReplyParser parser(plain, true, weather_tools);
            ReplyDelta whole;
            for (std::size_t at = 0; at < reply.size();) {
                const std::size_t size = round == 0 ? reply.size() : 1 + random() % 5;
                whole.add(parser.feed(std::string_view(reply).substr(at, size)));
                at += size;
            }
            whole.add(parser.finish());
            ASSERT_EQ(whole.content, item.content) << reply;
            ASSERT_EQ(whole.calls, item.calls) << reply;
        }
    }
}

TEST(ChatReply, CallsFollowThinking) {
    const ReplyDelta reply = parse_reply(
        opened, true, "I need <tool_call> it.\n</think>\n\n<tool_call>{\"name\":\"f\"}</tool_call>", weather_tools);
    EXPECT_EQ(reply.reasoning, "I need <tool_call> it.");
    EXPECT_EQ(reply.content, "");
    EXPECT_EQ(reply.calls, (std::vector<ToolCall>{{"f", "{}"}}));
}

TEST(ChatReply, WithoutToolsACallIsText) {
    const char* const reply = "<tool_call>{\"name\":\"f\"}</tool_call>";
    EXPECT_EQ(parse_reply(plain, true, reply).content, reply);
}

TEST(ChatReply, WordsAreNotHeldBack) {
    ReplyParser parser(opened, true);
    EXPECT_TRUE(parser.in_reasoning());
    EXPECT_EQ(parser.feed("one two").reasoning, "one two");
    EXPECT_EQ(parser.feed(" ").reasoning, "");
    EXPECT_EQ(parser.feed("three</").reasoning, " three");
    const ReplyDelta last = parser.feed("think>\n\nsaid");
    EXPECT_EQ(last.reasoning, "");
    EXPECT_EQ(last.content, "said");
    EXPECT_FALSE(parser.in_reasoning());
}

TEST(ChatReply, TrimsAsPythonDoes) {
    EXPECT_EQ(trim(" \t\r\n\v\f\x1C\u0085\u00A0\u2003\u2028\u3000x\u3000 "), "x");
    EXPECT_EQ(trim("\u200Bx\uFEFF"), "\u200Bx\uFEFF");
    EXPECT_EQ(trim(" \x80"), "\x80");
    EXPECT_EQ(trim(" \u3000"), "");
    EXPECT_EQ(trim_right("a\n\n", '\n'), "a");
    EXPECT_EQ(trim_left("\n\n", '\n'), "");
    EXPECT_EQ(trim_right("\n\n", '\n'), "");
}

}  // namespace
}  // namespace octavo
