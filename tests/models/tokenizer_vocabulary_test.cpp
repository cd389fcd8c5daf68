// Small vocabularies made by hand or by the SentencePiece trainer: what tokens mean, and every fault of a vocabulary.
#include <gtest/gtest.h>
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "models/tokenizer/sentencepiece_proto.h"
#include "models/tokenizer/sentencepiece_tokenizer.h"
#include "models/tokenizer/token_matcher.h"

namespace octavo {
namespace {

using Ids = std::vector<int32_t>;
using TokenizerPtr = std::shared_ptr<const Tokenizer>;

// Arrays as a file has them, to be spoilt by the tests.
struct Vocabulary {
    std::vector<std::string> tokens;
    std::vector<float> scores;
    std::vector<int32_t> types;
    SpecialIds special;
    bool add_space_prefix = false;

    int32_t add(std::string token, PieceType type = PieceType::normal) {
        tokens.push_back(std::move(token));
        scores.push_back(-static_cast<float>(tokens.size()));
        types.push_back(static_cast<int32_t>(type));
        return static_cast<int32_t>(tokens.size()) - 1;
    }
    Result<TokenizerPtr> make() const {
        const std::vector<std::string_view> views(tokens.begin(), tokens.end());
        return make_sentencepiece({views, scores, types, special, add_space_prefix});
    }
    TokenizerPtr must_make() const {
        Result<TokenizerPtr> made = make();
        EXPECT_TRUE(made) << made.error().message;
        return made ? *made : nullptr;
    }
};

Vocabulary letters() {
    Vocabulary v;
    v.add("<unk>", PieceType::unknown);
    v.add("<|im_end|>", PieceType::control);
    v.add("ab");
    v.add("\u2581ab");
    for (const char* token : {"a", "b", "c", "\u2581"}) v.add(token);
    return v;
}

Vocabulary with_bytes() {
    Vocabulary v = letters();
    for (int byte = 0; byte < 256; ++byte) {
        const char* digits = "0123456789ABCDEF";
        v.add({'<', '0', 'x', digits[byte / 16], digits[byte % 16], '>'}, PieceType::byte);
    }
    return v;
}

void expect_refused(const Vocabulary& vocabulary, const std::string& part) {
    const Result<TokenizerPtr> made = vocabulary.make();
    ASSERT_FALSE(made) << "should be refused: " << part;
    EXPECT_NE(made.error().message.find(part), std::string::npos) << made.error().message;
}

TEST(TokenizerVocabulary, MergesByScore) {
    const TokenizerPtr tokenizer = letters().must_make();
    ASSERT_TRUE(tokenizer);
    EXPECT_EQ(*tokenizer->encode_text("abc ab a"), (Ids{2, 6, 3, 7, 4}));
    EXPECT_EQ(*tokenizer->encode_text(""), Ids());
    EXPECT_EQ(decode(*tokenizer, {2, 6, 3, 1}), "abc ab");
    EXPECT_EQ(tokenizer->stop_ids(), Ids{1});
}

TEST(TokenizerVocabulary, SpacePrefixGoesBeforeTextOnly) {
    Vocabulary v = letters();
    v.add_space_prefix = true;
    const TokenizerPtr tokenizer = v.must_make();
    ASSERT_TRUE(tokenizer);
    EXPECT_EQ(*tokenizer->encode({{"ab<|im_end|>c", true}}), (Ids{3, 1, 7, 6}));
    EXPECT_EQ(*tokenizer->encode({{"<|im_end|>", true}}), Ids{1});
    EXPECT_EQ(*tokenizer->encode_text(""), Ids());
}

TEST(TokenizerVocabulary, UnknownCharactersAreNamed) {
    const TokenizerPtr tokenizer = letters().must_make();
    ASSERT_TRUE(tokenizer);
    const Result<Ids> ids = tokenizer->encode_text("ab\u00e9c");
    ASSERT_FALSE(ids);
    EXPECT_NE(ids.error().message.find("U+00E9"), std::string::npos) << ids.error().message;
    const Result<Ids> broken = tokenizer->encode_text("ab\xFF");
    ASSERT_FALSE(broken);
    EXPECT_NE(broken.error().message.find("0xFF"), std::string::npos) << broken.error().message;
}

TEST(TokenizerVocabulary, BytesStandInForWhatIsUnknown) {
    const TokenizerPtr tokenizer = with_bytes().must_make();
    ASSERT_TRUE(tokenizer);
    EXPECT_EQ(*tokenizer->encode_text("\u00e9\xFF"), (Ids{8 + 0xC3, 8 + 0xA9, 8 + 0xFF}));
    EXPECT_EQ(*tokenizer->encode_text("a\xE2\x82"), (Ids{4, 8 + 0xE2, 8 + 0x82}));
    const std::string typed = "<0x41>";
    EXPECT_EQ(decode(*tokenizer, *tokenizer->encode_text(typed)), typed) << "the name of a byte token is only text";
}

TEST(TokenizerVocabulary, TextIsNeverCutWhereTokensReachAcross) {
    Vocabulary v = letters();
    const int32_t across = v.add("c\u2581");
    const TokenizerPtr tokenizer = v.must_make();
    ASSERT_TRUE(tokenizer);
    EXPECT_EQ(*tokenizer->encode_text("c c c"), (Ids{across, across, 6}));
    // "ab" pairs all along, longer than what the library is given at once: no pair may be torn.
    std::string text = "c";
    for (int i = 0; i < 10000; ++i) text += "ab";
    Ids expected(10001, 2);
    expected[0] = 6;
    EXPECT_EQ(*tokenizer->encode_text(text), expected);
}

TEST(TokenizerVocabulary, ASpaceComesBackWithoutATokenForIt) {
    Vocabulary v = with_bytes();
    v.tokens[7] = "d";
    const TokenizerPtr tokenizer = v.must_make();
    ASSERT_TRUE(tokenizer);
    EXPECT_EQ(*tokenizer->encode_text("c c"), (Ids{6, 8 + ' ', 6}));
}

TEST(TokenizerVocabulary, SpecialTokensOfOneCharacterAreNotFoundInText) {
    Vocabulary v = with_bytes();
    const int32_t control = v.add("#", PieceType::control);
    const TokenizerPtr tokenizer = v.must_make();
    ASSERT_TRUE(tokenizer);
    EXPECT_EQ(*tokenizer->encode_text("#"), Ids{8 + '#'});
    EXPECT_EQ(*tokenizer->encode({{"a#", true}}), (Ids{4, control}));
}

TEST(TokenizerVocabulary, UserDefinedTextIsFoundEverywhereMarkupIsNot) {
    Vocabulary v = with_bytes();
    const int32_t pair = v.add("bc", PieceType::user_defined);
    const int32_t spaces = v.add("  ", PieceType::user_defined);  // as GGUF writers spell it
    const int32_t tag = v.add("<tag>", PieceType::user_defined);
    const TokenizerPtr tokenizer = v.must_make();
    ASSERT_TRUE(tokenizer);
    EXPECT_EQ(*tokenizer->encode_text("abc   ab"), (Ids{4, pair, spaces, 3}));
    EXPECT_EQ(*tokenizer->encode({{"a<tag>", true}}), (Ids{4, tag}));
    EXPECT_EQ((*tokenizer->encode_text("<tag>")).size(), 5u);
    EXPECT_EQ(tokenizer->token_bytes(tag), "<tag>");
    EXPECT_EQ(tokenizer->token_bytes(spaces), "  ");
    EXPECT_EQ(tokenizer->special_name(tag), "<tag>");
}

TEST(TokenizerVocabulary, UnusedTokensAreSplitAgain) {
    Vocabulary v = letters();
    v.types[2] = static_cast<int32_t>(PieceType::unused);
    const TokenizerPtr tokenizer = v.must_make();
    ASSERT_TRUE(tokenizer);
    EXPECT_EQ(*tokenizer->encode_text("abc"), (Ids{4, 5, 6}));
}

TEST(TokenizerVocabulary, EveryFaultHasItsSentence) {
    expect_refused({}, "empty");
    const auto spoilt = [](auto change, const std::string& part) {
        Vocabulary v = with_bytes();
        change(v);
        expect_refused(v, part);
    };
    spoilt([](Vocabulary& v) { v.scores.pop_back(); }, "264 tokens");
    spoilt([](Vocabulary& v) { v.types.push_back(1); }, "265 types");
    spoilt([](Vocabulary& v) { v.tokens[5] = ""; }, "Token 5 ('') of the tokenizer is empty");
    spoilt([](Vocabulary& v) { v.tokens[5] = "\xC3"; }, "Token 5 ('\\xc3') of the tokenizer is not valid UTF-8");
    spoilt([](Vocabulary& v) { v.tokens[5] = std::string(5000, 'x'); }, "5000 bytes");
    spoilt([](Vocabulary& v) { v.tokens[5] = "ab"; }, "a second time");
    spoilt([](Vocabulary& v) { v.tokens[5] = "<0x00>"; }, "a second time");
    for (const float score : {std::nanf(""), std::numeric_limits<float>::infinity()})
        spoilt([=](Vocabulary& v) { v.scores[4] = score; }, "score");
    for (const int32_t type : {0, 7, -1, std::numeric_limits<int32_t>::min()})
        spoilt([=](Vocabulary& v) { v.types[4] = type; }, "unknown type");
    for (const int32_t id : {-2, 264, std::numeric_limits<int32_t>::max()}) {
        spoilt([=](Vocabulary& v) { v.special.end_of_text = id; }, "eos_token_id");
        spoilt([=](Vocabulary& v) { v.special.end_of_turn = id; }, "eot_token_id");
        spoilt([=](Vocabulary& v) { v.special.padding = id; }, "padding_token_id");
        spoilt([=](Vocabulary& v) { v.special.unknown = id; }, "unknown_token_id");
    }
    spoilt([](Vocabulary& v) { v.types[0] = 1; }, "no unknown token");
    spoilt([](Vocabulary& v) { v.types[3] = 2; }, "two unknown tokens");
    spoilt([](Vocabulary& v) { v.types[100] = 1; }, "255 byte tokens");
    spoilt([](Vocabulary& v) { v.types[3] = 6; }, "byte token");
}

TEST(TokenizerVocabulary, UnknownTokenMayBeNamedByItsId) {
    Vocabulary v = letters();
    v.types[0] = 1;
    v.special.unknown = 0;
    EXPECT_TRUE(v.must_make());
}

TEST(TokenizerVocabulary, DeepAndWideVocabulariesStaySound) {
    Vocabulary v = with_bytes();
    for (std::string token = "aa"; token.size() < 400; token += 'a') v.add(token, PieceType::user_defined);
    for (std::string token = "cc"; token.size() < 400; token += 'c') v.add(token, PieceType::unused);
    v.add(std::string("b\0b", 3));
    v.add(std::string("\0c", 2), PieceType::user_defined);
    const TokenizerPtr tokenizer = v.must_make();
    ASSERT_TRUE(tokenizer);
    const std::string text = std::string(1000, 'a') + std::string(1000, 'c') + std::string("b\0b\0c", 5);
    EXPECT_EQ(decode(*tokenizer, *tokenizer->encode_text(text)), text);
}

TEST(TokenizerVocabulary, LongestSpecialTokenWins) {
    TokenMatcher matcher;
    matcher.add("<a", 1);
    matcher.add("<ab>", 2);
    matcher.add("<", 3);
    matcher.add("<", 4);
    EXPECT_EQ(matcher.match("<ab>c").id, 2);
    EXPECT_EQ(matcher.match("<abc").id, 1);
    EXPECT_EQ(matcher.match("<b").id, 3);
    EXPECT_EQ(matcher.match("a<").id, -1);
    EXPECT_EQ(matcher.match("").id, -1);
    EXPECT_EQ(matcher.find("<ab>"), 2);
}

// Lines of made-up words for the trainer.
class Lines final : public sentencepiece::SentenceIterator {
  public:
    bool done() const override { return at_ >= 400; }
    void Next() override { value_ = line(++at_); }
    const std::string& value() const override { return value_; }
    sentencepiece::util::Status status() const override { return {}; }

  private:
    static std::string line(unsigned seed) {
        std::mt19937 random(seed);
        std::string text;
        for (int word = 0; word < 12; ++word) {
            for (unsigned i = 0; i < 2 + random() % 3; ++i)
                text += "karolimetu"[random() % 10], text += "aeiou"[random() % 5];
            text += ' ';
        }
        return text;
    }
    unsigned at_ = 0;
    std::string value_ = line(0);
};

std::string trained(const std::string& more) {
    Lines lines;
    std::string model;
    const auto status = sentencepiece::SentencePieceTrainer::Train(
        "--model_type=bpe --vocab_size=400 --byte_fallback=true --minloglevel=2 --user_defined_symbols=<|im_end|> " +
            more,
        &lines, &model);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return model;
}

// The library on the trainer's own file is the oracle for the library on our rewritten one, cuts and memory included.
TEST(TokenizerVocabulary, EqualsTheLibraryOnATrainedModel) {
    for (const std::string prefix : {"true", "false"}) {
        const std::string model =
            trained("--normalization_rule_name=identity --remove_extra_whitespaces=false --add_dummy_prefix=" + prefix);
        const Result<TokenizerPtr> tokenizer = make_sentencepiece(model, {});
        ASSERT_TRUE(tokenizer) << tokenizer.error().message;
        sentencepiece::SentencePieceProcessor library;
        ASSERT_TRUE(library.LoadFromSerializedProto(model).ok());
        std::mt19937 random(2);
        for (int round = 0; round < 60; ++round) {
            std::string text;
            for (unsigned i = 0; i < random() % (round < 50 ? 60 : 8000); ++i)
                text += random() % 9 ? std::string(1, "karolimetu  \n-"[random() % 14]) : "\u65e5";
            Ids expected;
            ASSERT_TRUE(library.Encode(text, &expected).ok());
            ASSERT_EQ(*(*tokenizer)->encode_text(text), expected) << text;
        }
    }
}

TEST(TokenizerVocabulary, ModelsThatChangeTextAreRefused) {
    const std::pair<const char*, const char*> cases[] = {
        {"--normalization_rule_name=nmt_nfkc", "rewrites text"},
        {"--normalization_rule_name=identity --remove_extra_whitespaces=true", "spaces"},
        {"--normalization_rule_name=identity --remove_extra_whitespaces=false --treat_whitespace_as_suffix=true",
         "suffixes"},
    };
    for (const auto& [flags, part] : cases) {
        const Result<TokenizerPtr> made = make_sentencepiece(trained(flags), {});
        ASSERT_FALSE(made) << flags;
        EXPECT_NE(made.error().message.find(part), std::string::npos) << made.error().message;
    }
}

TEST(TokenizerVocabulary, OtherFilesAreNoModels) {
    for (const std::string& file : {std::string(), std::string("GGUF"), std::string(100, '\0'),
                                    std::string(100, '\xFF'), std::string("{\"model\": \"tokenizer.json\"}")}) {
        const Result<TokenizerPtr> made = make_sentencepiece(file, {});
        ASSERT_FALSE(made);
        EXPECT_GT(made.error().message.size(), 20u);
    }
}

}  // namespace
}  // namespace octavo
