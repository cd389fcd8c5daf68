// Sizes, token lists, text files, message files and .npy files: how people and scripts write them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "app/chat/message_file.h"
#include "app/chat/reply_view.h"
#include "app/npy.h"
#include "app/output_target.h"
#include "app/printable_text.h"
#include "app/size_text.h"
#include "app/text_file.h"
#include "app/token_list.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;

std::string temporary_file(const std::string& name, const std::string& content) {
    const fs::path path = fs::path(testing::TempDir()) / ("octavo_text_test_" + name);
    std::ofstream(path, std::ios::binary) << content;
    return path.string();
}

TEST(SizeText, ReadsSuffixes) {
    EXPECT_EQ(*parse_size("0"), 0);
    EXPECT_EQ(*parse_size("4096"), 4096);
    EXPECT_EQ(*parse_size("16k"), 16384);
    EXPECT_EQ(*parse_size("1KiB"), 1024);
    EXPECT_EQ(*parse_size("512MiB"), int64_t{512} << 20);
    EXPECT_EQ(*parse_size("8GiB"), int64_t{8} << 30);
}

TEST(SizeText, RefusesEverythingElse) {
    for (const char* text :
         {"", "k", "-1", "4 k", "4kb", "1.5k", "0x10", "9223372036854775808", "9007199254740992k", "4k "}) {
        const auto size = parse_size(text);
        ASSERT_FALSE(size) << text;
        EXPECT_EQ(size.error().kind, ErrorKind::usage);
        EXPECT_NE(size.error().message.find(text), std::string::npos);
    }
}

TEST(SizeText, WritesForPeople) {
    EXPECT_EQ(group_digits(0), "0");
    EXPECT_EQ(group_digits(999), "999");
    EXPECT_EQ(group_digits(262144), "262,144");
    EXPECT_EQ(group_digits(-1234567), "-1,234,567");
    EXPECT_EQ(bytes_text(896), "896 B");
    EXPECT_EQ(bytes_text(4096), "4.0 KiB");
    EXPECT_EQ(bytes_text(int64_t{3} << 29), "1.50 GiB");
}

TEST(TokenList, ReadsWhatItWrites) {
    const std::vector<int32_t> ids = {1, 22, 333};
    EXPECT_EQ(token_list_text(ids), "1, 22, 333");
    for (const char* text : {"1,22,333", "1, 22, 333", "[1,22,\n333]", "1 22 333"})
        EXPECT_EQ(*parse_token_list(text), ids);
    for (const char* text :
         {"", "[]", "1,x", "1,99999999999", "1,,2", ",1", "1,", "1, ,2", "[1,2", "1]2", "1-2", "1x", "[,]"})
        EXPECT_FALSE(parse_token_list(text)) << text;
    EXPECT_TRUE(check_token_ids(ids, 334));
    EXPECT_FALSE(check_token_ids(ids, 333));
    EXPECT_FALSE(check_token_ids({-1}, 333));
}

TEST(TextFile, FindsBrokenUtf8) {
    for (const char* text : {"", "plain", "grüße 你好 🦉", "\u07ff\u0800\uffff"})
        EXPECT_EQ(find_invalid_utf8(text), std::string::npos) << text;
    EXPECT_EQ(find_invalid_utf8("ab\xff"), 2u);
    EXPECT_EQ(find_invalid_utf8("a\xc3"), 1u);
    EXPECT_EQ(find_invalid_utf8("\xc0\x80"), 0u) << "overlong";
    EXPECT_EQ(find_invalid_utf8("\xed\xa0\x80"), 0u) << "surrogate";
    EXPECT_EQ(find_invalid_utf8("\xf4\x90\x80\x80"), 0u) << "above U+10FFFF";
    EXPECT_EQ(find_invalid_utf8(std::string("a\0b", 3)), 1u) << "NUL";
}

TEST(TextFile, ReadsWholeTextOnly) {
    EXPECT_EQ(*read_text_file(temporary_file("plain.txt", "one\r\ntwo")), "one\r\ntwo");
    EXPECT_EQ(*read_text_file(temporary_file("mark.txt", "\xef\xbb\xbfone")), "one") << "byte order mark";
    const auto binary = read_text_file(temporary_file("binary", "PK\x03\x04\xff\xfe"));
    ASSERT_FALSE(binary);
    EXPECT_EQ(binary.error().kind, ErrorKind::input);
    EXPECT_EQ(read_text_file("/no/such/file").error().kind, ErrorKind::io);
    EXPECT_FALSE(read_text_file(testing::TempDir())) << "a folder";
}

TEST(OutputTarget, JsonOverwritesJsonOnly) {
    const auto allowed = [](const std::string& name, const std::string& content) {
        return static_cast<bool>(check_overwrites_json_only(temporary_file(name, content)));
    };
    EXPECT_TRUE(allowed("empty.json", ""));
    EXPECT_TRUE(allowed("old.json", "{\"a\": [1, 2]}\n"));
    EXPECT_FALSE(allowed("model.gguf", "GGUF"));
    EXPECT_FALSE(allowed("config.ini", "[user]\nname = x\n"));
    EXPECT_FALSE(allowed("script", "{ echo; }\n"));
    EXPECT_FALSE(allowed("cut.json", "{\"a\": 1"));
    EXPECT_FALSE(allowed("lines.json", "{\"a\": 1}\n{\"a\": 2}\n")) << "JSON lines are somebody's data";
}

TEST(OutputTarget, FindsOutBeforeTheWork) {
    EXPECT_FALSE(check_writable("/no/such/folder/x.json"));
    EXPECT_FALSE(check_writable(testing::TempDir())) << "a folder";
    const fs::path fresh = fs::path(testing::TempDir()) / "octavo_text_test_fresh.json";
    fs::remove(fresh);
    EXPECT_TRUE(check_writable(fresh));
    EXPECT_FALSE(fs::exists(fresh)) << "the check left a file";
    const std::string old = temporary_file("kept.json", "{}");
    EXPECT_TRUE(check_overwrites_json_only(old));
    EXPECT_EQ(fs::file_size(old), 2u);
}

TEST(OutputTarget, ArraysOverwriteArraysOnly) {
    EXPECT_FALSE(check_npy_target("-"));
    EXPECT_FALSE(check_npy_target(temporary_file("model2.gguf", "GGUF")));
    EXPECT_TRUE(check_npy_target(temporary_file("old.npy", "\x93NUMPY...")));
    EXPECT_TRUE(check_npy_target(temporary_file("none.npy", "")));
}

TEST(OutputTarget, PicturesOverwritePicturesOnly) {
    const auto check = [](const fs::path& file) { return check_overwrites_only(file, "\x89PNG", "a PNG picture"); };
    EXPECT_FALSE(check(temporary_file("notes.txt", "my notes")));
    EXPECT_TRUE(check(temporary_file("old.png", "\x89PNG....")));
    EXPECT_FALSE(check("-"));
}

TEST(TextFile, OnlyRegularFilesOfSensibleSize) {
    const auto endless = read_text_file("/dev/zero");
    ASSERT_FALSE(endless);
    EXPECT_NE(endless.error().message.find("device"), std::string::npos) << endless.error().message;
    const std::string large = temporary_file("large.txt", "x");
    fs::resize_file(large, (uintmax_t{64} << 20) + 1);  // a hole, not written to the disk
    const auto too_large = read_text_file(large);
    fs::remove(large);
    ASSERT_FALSE(too_large);
    EXPECT_NE(too_large.error().message.find("64.0 MiB"), std::string::npos) << too_large.error().message;
}

TEST(PrintableText, TakesThePowerFromControlCharacters) {
    EXPECT_EQ(printable_line("Qwen3 你好 🦉"), "Qwen3 你好 🦉");
    EXPECT_EQ(printable_line("a\x1b[31mb\x07"), "a\ufffd[31mb\ufffd");
    EXPECT_EQ(printable_line("one\ntwo\r\tx"), "one\\ntwo\\r\\tx");
    EXPECT_EQ(printable_text("one\ntwo\r\tx"), "one\ntwo\\r\tx");
    EXPECT_EQ(printable_line("\u009b31m\u202eabc\x7f"), "\ufffd31m\ufffdabc\ufffd") << "C1 and direction";
    EXPECT_EQ(printable_line("\x9b"
                             "31m \xff cut \xe4\xbd"),
              "\ufffd31m \ufffd cut \ufffd")
        << "not UTF-8";
    EXPECT_EQ(printable_line(std::string("a\0b", 3)), "a\ufffdb");
}

TEST(MessageFile, RoundTrips) {
    const std::vector<Message> messages = {
        {Role::system, "Be brief.", ""}, {Role::user, "Hi \"you\"\n", ""}, {Role::assistant, " Hello", "a thought"}};
    const auto back = parse_messages(messages_json(messages));
    ASSERT_TRUE(back) << back.error().message;
    ASSERT_EQ(back->size(), messages.size());
    for (size_t i = 0; i < messages.size(); ++i) {
        EXPECT_EQ((*back)[i].role, messages[i].role);
        EXPECT_EQ((*back)[i].content, messages[i].content);
        EXPECT_EQ((*back)[i].reasoning, messages[i].reasoning);
    }
}

TEST(MessageFile, RefusesWithTheMessagesNumber) {
    for (const char* text : {"", "{", "{}", "3", "[3]", R"([{"role": "user"}])", R"([{"role": "user", "content": 3}])",
                             R"([{"role": "robot", "content": "x"}])", R"([{"content": "x"}])"})
        EXPECT_FALSE(parse_messages(text)) << text;
    for (const char* calls : {"3", "[3]", "[{}]", R"([{"function": {"name": 3}}])", R"([{"function": 3}])"}) {
        const auto messages = parse_messages(fmt::format(
            R"([{{"role":"user","content":"a"}},{{"role":"assistant","content":"b","tool_calls":{}}}])", calls));
        ASSERT_FALSE(messages) << calls;
        EXPECT_NE(messages.error().message.find("message 2"), std::string::npos) << messages.error().message;
    }
    EXPECT_FALSE(parse_messages(std::string(100000, '[')));
}

TEST(MessageFile, KeepsToolsAndTheirResults) {
    const auto messages = parse_messages(
        R"([{"role": "assistant", "content": null, "tool_calls": [{"type": "function", "function":
            {"name": "f", "arguments": {"z": 1, "a": ["b"]}}}, {"name": "g", "arguments": "{\"as\": \"text\"}"}]},
            {"role": "tool", "content": "42"}])");
    ASSERT_TRUE(messages) << messages.error().message;
    const auto back = parse_messages(messages_json(*messages));
    ASSERT_TRUE(back) << back.error().message;
    for (const auto& list : {*messages, *back}) {
        ASSERT_EQ(list.size(), 2u);
        EXPECT_FALSE(list[0].has_content);
        EXPECT_EQ(list[0].calls, (std::vector<ToolCall>{{"f", R"({"z": 1, "a": ["b"]})"}, {"g", R"({"as": "text"})"}}));
        EXPECT_EQ(list[1].role, Role::tool);
        EXPECT_EQ(list[1].content, "42");
    }
}

TEST(NpyFile, HasTheFormatsHeader) {
    const std::string path = temporary_file("values.npy", "");
    const std::array<float, 6> values = {0, 1, 2, 3, 4, -5.5f};
    ASSERT_TRUE(write_npy(path, {2, 3}, values));
    std::ifstream in(path, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)), {});
    ASSERT_GT(bytes.size(), sizeof(values));
    EXPECT_EQ(bytes.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
    const size_t header = static_cast<unsigned char>(bytes[8]) + 256u * static_cast<unsigned char>(bytes[9]);
    EXPECT_EQ((10 + header) % 64, 0u);
    EXPECT_NE(bytes.find("'shape': (2,3,)"), std::string::npos);
    ASSERT_EQ(bytes.size(), 10 + header + sizeof(values));
    float last = 0;
    std::copy_n(bytes.end() - 4, 4, reinterpret_cast<char*>(&last));
    EXPECT_EQ(last, -5.5f);
    EXPECT_FALSE(write_npy("/no/such/folder/x.npy", {6}, values));
}

TEST(ReplyView, DropsLeadingSpaceOnly) {
    EXPECT_EQ(without_leading_space(" \n a b "), "a b ");
    EXPECT_EQ(without_leading_space("  "), "");
}

}  // namespace
}  // namespace octavo
