// Sizes, token lists, text files, message files and .npy files: how people and scripts write them.
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
#include "app/output.h"
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
    for (const char* text : {"", "[]", "1,x", "1,99999999999"}) EXPECT_FALSE(parse_token_list(text)) << text;
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

TEST(TextFile, JsonOverwritesJsonOnly) {
    EXPECT_TRUE(check_overwrites_json_only("/no/such/file"));
    EXPECT_TRUE(check_overwrites_json_only(temporary_file("empty.json", "")));
    EXPECT_TRUE(check_overwrites_json_only(temporary_file("old.json", "{\"a\": 1}")));
    EXPECT_FALSE(check_overwrites_json_only(temporary_file("model.gguf", "GGUF")));
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
                             R"([{"role": "tool", "content": "x"}])", R"([{"content": "x"}])"})
        EXPECT_FALSE(parse_messages(text)) << text;
    const auto tools =
        parse_messages(R"([{"role":"user","content":"a"},{"role":"assistant","content":"b","tool_calls":[]}])");
    ASSERT_FALSE(tools);
    EXPECT_NE(tools.error().message.find("message 2"), std::string::npos) << tools.error().message;
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
