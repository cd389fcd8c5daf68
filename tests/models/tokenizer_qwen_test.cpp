// The Qwen vocabularies against the ids of Hugging Face's implementation: with a reduced vocabulary that lies in the
// tree, and with the whole one where that is beside it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/model_text.h"
#include "models/tokenizer/nfc.h"
#include "tests/support/byte_vocabulary.h"
#include "tests/support/paths.h"
#include "tests/support/text_files.h"

namespace octavo {
namespace {

using Ids = std::vector<int32_t>;
using Json = nlohmann::json;
using TokenizerPtr = std::shared_ptr<const Tokenizer>;

constexpr const char* rules[] = {"qwen2", "qwen35"};

TokenizerPtr reduced(const Json& fixture, const std::string& rule) {
    test::ByteVocabulary v;
    v.tokens.assign(fixture["vocab_size"], "");
    v.types.assign(v.tokens.size(), 5);
    for (const Json& token : fixture["tokens"]) {
        v.tokens.at(token[0]) = token[1];
        v.types.at(token[0]) = token[2];
    }
    v.merges = fixture["merges"].get<std::vector<std::string>>();
    v.split = *find_bpe_split(rule);
    const Result<TokenizerPtr> made = v.make();
    EXPECT_TRUE(made) << made.error().message;
    return made ? *made : nullptr;
}

// Gives the number of cases.
std::size_t expect_ids(const Tokenizer& tokenizer, const Json& cases) {
    for (const Json& item : cases) {
        const auto text = item["text"].get<std::string>();
        const Result<Ids> ids = tokenizer.encode({{text, true}});
        EXPECT_TRUE(ids) << ids.error().message;
        if (!ids) return 0;
        EXPECT_EQ(*ids, item["ids"].get<Ids>()) << text.substr(0, 200);
        const Result<Ids> typed = tokenizer.encode_text(text);
        EXPECT_TRUE(typed) << typed.error().message;
        if (!typed) return 0;
        for (const int32_t id : *typed) EXPECT_EQ(tokenizer.special_name(id), "") << text.substr(0, 200);
        if (item.contains("ids_special_as_text")) {
            EXPECT_EQ(*typed, item["ids_special_as_text"].get<Ids>()) << text.substr(0, 200);
        }
        EXPECT_EQ(decode(tokenizer, *typed), to_nfc(text));
    }
    return cases.size();
}

TEST(TokenizerQwen, AReducedVocabularyEqualsTheReference) {
    const Json fixture = Json::parse(test::fixture_text("tokenizer/qwen_reduced.json"));
    std::size_t cases = 0;
    for (const char* rule : rules) {
        const TokenizerPtr tokenizer = reduced(fixture, rule);
        ASSERT_TRUE(tokenizer);
        cases += expect_ids(*tokenizer, fixture["pre"][rule]);
    }
    EXPECT_EQ(cases, 439u + 70u);
}

class TokenizerQwenShared : public testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        const auto file = test::shared_path(std::string("fixtures/tokenizer/") + GetParam() + "_vocab.gguf");
        if (!file) GTEST_SKIP() << file.error().message;
        const auto text = open_model_text(*file);
        ASSERT_TRUE(text) << text.error().message;
        ASSERT_TRUE((*text)->tokenizer) << (*text)->tokenizer_error;
        tokenizer_ = (*text)->tokenizer;
    }

    static Json shared_json(const std::string& name) {
        const auto text = test::shared_text("fixtures/tokenizer/" + name);
        return text ? Json::parse(*text) : Json::object();
    }

    TokenizerPtr tokenizer_;
};

TEST_P(TokenizerQwenShared, EqualsTheReference) {
    const Json fixture = shared_json(std::string(GetParam()) + "_tokenize.json");
    EXPECT_EQ(expect_ids(*tokenizer_, fixture["cases"]), std::string(GetParam()) == "qwen2" ? 440u : 70u);
    EXPECT_EQ(tokenizer_->vocab_size(), 151936);
    EXPECT_EQ(tokenizer_->stop_ids(), (Ids{151643, 151645}));
    EXPECT_EQ(tokenizer_->special_id("<think>"), 151667);
}

TEST_P(TokenizerQwenShared, DecodesAsTheReference) {
    const Json cases = shared_json("qwen2_decode.json")["cases"];
    ASSERT_EQ(cases.size(), 110u);
    for (const Json& item : cases) {
        const auto ids = item["ids"].get<Ids>();
        for (std::size_t i = 0; i < ids.size(); ++i) {
            std::string hex;
            for (const char c : tokenizer_->token_bytes(ids[i])) {
                hex += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
                hex += "0123456789abcdef"[c & 15];
            }
            EXPECT_EQ(hex, item["pieces_hex"][i].get<std::string>()) << ids[i];
        }
        EXPECT_EQ(decode(*tokenizer_, ids), item["text"].get<std::string>());
    }
}

INSTANTIATE_TEST_SUITE_P(Rules, TokenizerQwenShared, testing::ValuesIn(rules),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace octavo
