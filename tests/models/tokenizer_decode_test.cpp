// StreamDecoder and decode against Python's errors="replace", and the steps of UTF-8 below them.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "models/tokenizer/tokenizer.h"
#include "models/tokenizer/utf8.h"
#include "tests/support/text_files.h"

namespace octavo {
namespace {

// Token i stands for the bytes pieces[i].
class FakeTokenizer final : public Tokenizer {
  public:
    explicit FakeTokenizer(std::vector<std::string> pieces) : pieces_(std::move(pieces)) {}
    int vocab_size() const override { return static_cast<int>(pieces_.size()); }
    std::string family() const override { return "fake"; }
    Result<std::vector<int32_t>> encode(const std::vector<PromptPart>&) const override {
        return Error{ErrorKind::usage, "not here"};
    }
    std::string token_bytes(int32_t id) const override { return pieces_.at(id); }
    std::string special_name(int32_t) const override { return ""; }
    int32_t special_id(std::string_view) const override { return -1; }
    const std::vector<int32_t>& stop_ids() const override { return none_; }

  private:
    std::vector<std::string> pieces_;
    std::vector<int32_t> none_;
};

std::vector<int32_t> all_ids(const FakeTokenizer& tokenizer) {
    std::vector<int32_t> ids;
    for (int id = 0; id < tokenizer.vocab_size(); ++id) ids.push_back(id);
    return ids;
}

std::string from_hex(const std::string& hex) {
    std::string bytes;
    for (std::size_t i = 0; i < hex.size(); i += 2)
        bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    return bytes;
}

TEST(TokenizerDecode, EqualsPythonsReplacement) {
    const nlohmann::json fixture = nlohmann::json::parse(test::fixture_text("tokenizer/qwen2_decode.json"));
    int compared = 0;
    int broken = 0;
    for (const nlohmann::json& item : fixture["cases"]) {
        std::vector<std::string> pieces;
        for (const nlohmann::json& hex : item["pieces_hex"]) pieces.push_back(from_hex(hex.get<std::string>()));
        const FakeTokenizer tokenizer(pieces);
        const auto expected = item["text"].get<std::string>();
        EXPECT_EQ(decode(tokenizer, all_ids(tokenizer)), expected) << item["ids"].dump();
        ++compared;
        broken += expected.find(replacement_character) != std::string::npos;
    }
    EXPECT_EQ(compared, static_cast<int>(fixture["cases"].size()));
    EXPECT_GE(compared, 50);
    EXPECT_GE(broken, 10);
}

TEST(TokenizerDecode, NeverGivesOutHalfACharacter) {
    const FakeTokenizer tokenizer({"a\xF0\x9F", "\x98", "\x80z"});
    StreamDecoder decoder(tokenizer);
    EXPECT_EQ(decoder.feed(0), "a");
    EXPECT_EQ(decoder.feed(1), "");
    EXPECT_EQ(decoder.feed(2), "\xF0\x9F\x98\x80z");
    EXPECT_EQ(decoder.finish(), "");
}

TEST(TokenizerDecode, UnfinishedCharacterBecomesOneReplacement) {
    const FakeTokenizer tokenizer({"a\xF0\x9F\x98"});
    StreamDecoder decoder(tokenizer);
    EXPECT_EQ(decoder.feed(0), "a");
    EXPECT_EQ(decoder.finish(), replacement_character);
    EXPECT_EQ(decoder.finish(), "") << "finish() leaves nothing behind";
}

TEST(TokenizerDecode, CutsOfTheBytesDoNotMatter) {
    std::mt19937 random(7);
    const std::string lead = "\xC3\xE2\xED\xF0\xF4\xFF\xC0";
    for (int round = 0; round < 2000; ++round) {
        std::string bytes;
        for (unsigned i = 0; i < 1 + random() % 24; ++i)
            bytes += random() % 3 == 0 ? lead[random() % lead.size()] : static_cast<char>(random());
        std::vector<std::string> pieces(1);
        for (const char c : bytes) {
            if (random() % 2) pieces.emplace_back();
            pieces.back() += c;
        }
        const FakeTokenizer cut(pieces);
        const FakeTokenizer whole({bytes});
        const std::string text = decode(cut, all_ids(cut));
        ASSERT_EQ(text, decode(whole, {0})) << "round " << round;
        ASSERT_TRUE(is_valid_utf8(text)) << "round " << round;
    }
}

TEST(TokenizerDecode, Utf8StepsAreStrict) {
    using Kind = Utf8Step::Kind;
    const struct {
        std::string_view text;
        Kind kind;
        int bytes;
        char32_t character;
    } cases[] = {
        {"", Kind::cut, 0, 0},
        {"\x7F", Kind::character, 1, 0x7F},
        {"\x80", Kind::broken, 1, 0},
        {"\xC1\x80", Kind::broken, 1, 0},  // overlong
        {"\xC2\x80", Kind::character, 2, 0x80},
        {"\xE0\x9F\xBF", Kind::broken, 1, 0},  // overlong
        {"\xE0\xA0\x80", Kind::character, 3, 0x800},
        {"\xED\x9F\xBF", Kind::character, 3, 0xD7FF},
        {"\xED\xA0\x80", Kind::broken, 1, 0},  // surrogate
        {"\xEF\xBF\xBF", Kind::character, 3, 0xFFFF},
        {"\xF0\x8F\xBF\xBF", Kind::broken, 1, 0},  // overlong
        {"\xF0\x90\x80\x80", Kind::character, 4, 0x10000},
        {"\xF4\x8F\xBF\xBF", Kind::character, 4, 0x10FFFF},
        {"\xF4\x90\x80\x80", Kind::broken, 1, 0},  // too large
        {"\xF5\x80\x80\x80", Kind::broken, 1, 0},
        {"\xE2\x82", Kind::cut, 2, 0},
        {"\xE2\x82x", Kind::broken, 2, 0},
        {"\xF0\x9F\x98", Kind::cut, 3, 0},
    };
    for (const auto& item : cases) {
        const Utf8Step step = read_utf8(item.text);
        EXPECT_EQ(step.kind, item.kind) << testing::PrintToString(item.text);
        EXPECT_EQ(step.bytes, item.bytes) << testing::PrintToString(item.text);
        EXPECT_EQ(step.character, item.character) << testing::PrintToString(item.text);
    }
}

}  // namespace
}  // namespace octavo
