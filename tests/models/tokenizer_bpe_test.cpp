// Byte-level BPE with vocabularies made here: merging against a plain loop, what tokens mean, every fault of a
// vocabulary, and the same vocabulary from GGUF arrays and from a tokenizer.json.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "models/model_text.h"
#include "models/tokenizer/bpe_merges.h"
#include "models/tokenizer/nfc.h"
#include "models/tokenizer/tokenizer_json.h"
#include "tests/support/byte_vocabulary.h"

namespace octavo {
namespace {

using test::ByteVocabulary;
using Ids = std::vector<int32_t>;
using TokenizerPtr = std::shared_ptr<const Tokenizer>;

constexpr const char* sample =
    "the quick brown fox, the lazy dog; then the other one. \xC3\xA9t\xC3\xA9 \xC3\xA9t\xC3\xA9 "
    "\xE4\xB8\xAD\xE6\x96\x87"
    "\xE4\xB8\xAD\xE6\x96\x87 aaaa aaaaaaaa the the";

TokenizerPtr must_make(const ByteVocabulary& vocabulary) {
    const Result<TokenizerPtr> made = vocabulary.make();
    EXPECT_TRUE(made) << made.error().message;
    return made ? *made : nullptr;
}

std::string bytes_of(const Tokenizer& tokenizer, const Ids& ids) {
    std::string bytes;
    for (const int32_t id : ids) bytes += tokenizer.token_bytes(id);
    return bytes;
}

// One merge after the other, each looked for in the whole row.
Ids merged_plainly(const BpeMerges& merges, Ids row) {
    for (;;) {
        BpeMerges::Merge best;
        std::size_t place = 0;
        for (std::size_t i = 0; i + 1 < row.size(); ++i) {
            const BpeMerges::Merge merge = merges.find(row[i], row[i + 1]);
            if (merge.rank >= 0 && (best.rank < 0 || merge.rank < best.rank)) {
                best = merge;
                place = i;
            }
        }
        if (best.rank < 0) return row;
        row[place] = best.result;
        row.erase(row.begin() + static_cast<std::ptrdiff_t>(place) + 1);
    }
}

TEST(TokenizerBpe, MergesAsAPlainLoopDoes) {
    std::mt19937 random(1);
    for (int round = 0; round < 300; ++round) {
        // Few tokens, so that merges overlap and lead to one another.
        const int tokens = 2 + static_cast<int>(random() % 6);
        const int count = 1 + static_cast<int>(random() % 30);
        BpeMerges merges(static_cast<std::size_t>(count));
        int32_t next = tokens;
        for (int rank = 0; rank < count; ++rank) {
            const auto left = static_cast<int32_t>(random() % static_cast<unsigned>(next));
            const auto right = static_cast<int32_t>(random() % static_cast<unsigned>(next));
            if (merges.add(left, right, {rank, next})) ++next;
        }
        for (const std::size_t length : {0u, 1u, 2u, 3u, 31u, 32u, 33u, 34u, 100u, 400u}) {
            Ids row = {-5};  // what was there before stays
            for (std::size_t i = 0; i < length; ++i)
                row.push_back(static_cast<int32_t>(random() % static_cast<unsigned>(tokens)));
            Ids expected = merged_plainly(merges, Ids(row.begin() + 1, row.end()));
            expected.insert(expected.begin(), -5);
            merge_tokens(merges, row, 1);
            ASSERT_EQ(row, expected) << "round " << round << ", length " << length;
        }
    }
}

// A row that is long enough for lists by rank, with merges that make only later ones, and with others. Some results are
// those of two merges, so that pairs of one rank come up at different times.
TEST(TokenizerBpe, MergesVeryLongRowsAsShortOnes) {
    constexpr int32_t kLetters = 6, kMerges = 60;
    enum class Ranks { ascending, descending, leading_back };
    for (const Ranks ranks : {Ranks::ascending, Ranks::descending, Ranks::leading_back}) {
        for (unsigned seed = 0; seed < 8; ++seed) {
            std::mt19937 random(seed);
            BpeMerges merges(kMerges);
            int32_t next = kLetters;
            int32_t unused = 0;  // the newest result, while no merge has it as a part; else 0
            for (int32_t rank = 0; rank < kMerges; ++rank) {
                const auto letter = [&] { return static_cast<int32_t>(random() % static_cast<unsigned>(next)); };
                // Mostly what the row has: letters, and doubled results.
                const int32_t left = random() % 2 == 0 ? letter() % kLetters : letter();
                const int32_t right = random() % 3 == 0 ? left : random() % 2 == 0 ? letter() % kLetters : letter();
                const bool again = unused != 0 && left != unused && right != unused && random() % 2 == 0;
                int32_t result = again ? unused : next;
                if (ranks == Ranks::leading_back && rank % 10 == 9) result = kLetters;
                const int32_t at = ranks == Ranks::descending ? kMerges - 1 - rank : rank;
                if (!merges.add(left, right, {at, result})) continue;
                if (result == next) unused = next++;
                if (left == unused || right == unused) unused = 0;
            }
            ASSERT_EQ(merges.ascending(), ranks == Ranks::ascending) << "seed " << seed;
            // A letter that never merges parts the row into short ones.
            constexpr int32_t kWall = 1000;
            Ids row, want;
            while (row.size() < 70000) {
                Ids part(random() % 100);
                for (int32_t& id : part) id = static_cast<int32_t>(random() % kLetters);
                row.insert(row.end(), part.begin(), part.end());
                row.push_back(kWall);
                const Ids merged = merged_plainly(merges, part);
                want.insert(want.end(), merged.begin(), merged.end());
                want.push_back(kWall);
            }
            merge_tokens(merges, row, 0);
            ASSERT_EQ(row, want) << "seed " << seed;
        }
    }
}

TEST(TokenizerBpe, MergesByRankThenFromTheLeft) {
    ByteVocabulary v = test::plain_bytes();
    const int32_t bc = v.merge("b", "c");
    const int32_t ab = v.merge("a", "b");
    const int32_t aa = v.merge("a", "a");
    const TokenizerPtr tokenizer = must_make(v);
    ASSERT_TRUE(tokenizer);
    EXPECT_EQ(*tokenizer->encode_text("abc"), (Ids{'a', bc}));
    EXPECT_EQ(*tokenizer->encode_text("abab"), (Ids{ab, ab}));
    EXPECT_EQ(*tokenizer->encode_text("aaaaa"), (Ids{aa, aa, 'a'}));
    EXPECT_EQ(*tokenizer->encode_text(""), Ids());
    EXPECT_EQ(tokenizer->stop_ids(), (Ids{256, 258}));
    EXPECT_EQ(tokenizer->family(), "byte-level BPE");
}

TEST(TokenizerBpe, AnyBytesComeBack) {
    const TokenizerPtr tokenizer = must_make(test::trained_on(sample, 60));
    ASSERT_TRUE(tokenizer);
    std::mt19937 random(11);
    for (int round = 0; round < 500; ++round) {
        std::string bytes;
        for (unsigned i = 0; i < random() % 200; ++i)
            bytes += static_cast<char>(random() % 4 ? random() : "<|im_end>\n \xE2\x80"[random() % 13]);
        const Result<Ids> ids = tokenizer->encode_text(bytes);
        ASSERT_TRUE(ids) << ids.error().message;
        ASSERT_EQ(bytes_of(*tokenizer, *ids), to_nfc(bytes)) << "round " << round;
    }
}

TEST(TokenizerBpe, NormalisesWhereTheVocabularyAsksForIt) {
    const std::pair<const char*, const char*> cases[] = {
        {"e\u0301", "\u00e9"},
        {"\u00e9", "\u00e9"},
        {"\u212B K\u0301 \u2126", "\u00C5 \u1E30 \u03A9"},             // Angstrom and Ohm signs
        {"a\u0323\u0301 a\u0301\u0323", "\u1EA1\u0301 \u1EA1\u0301"},  // marks are ordered
        {"\u1112\u1161\u11ab", "\ud55c"},                              // Hangul
        {"e\xFF\u0301x\u0301", "e\xFF\u0301x\u0301"},                  // nothing joins across broken bytes
        {"\u0958", "\u0915\u093C"},                                    // excluded from composition
        {"\u00e9\u0323", "\u1EB9\u0301"},                              // a composed letter takes part
        {"plain", "plain"},
    };
    ByteVocabulary v = test::plain_bytes();
    const TokenizerPtr with = must_make(v);
    v.normalises = false;
    const TokenizerPtr without = must_make(v);
    ASSERT_TRUE(with && without);
    for (const auto& [text, normal] : cases) {
        EXPECT_EQ(to_nfc(text), normal);
        EXPECT_EQ(bytes_of(*with, *with->encode_text(text)), normal);
        EXPECT_EQ(bytes_of(*without, *without->encode_text(text)), text);
    }
}

// Neither a word without end nor a row of marks may take quadratic time: each would take hours.
TEST(TokenizerBpe, LongWordsAndRowsOfMarks) {
    const TokenizerPtr tokenizer = must_make(test::trained_on(sample, 60));
    ASSERT_TRUE(tokenizer);
    std::mt19937 random(7);
    std::string letters;
    std::string marks = "a";
    for (int i = 0; i < 1 << 20; ++i) letters += "aetho"[random() % 5];
    for (int i = 0; i < 1 << 18; ++i) marks += random() % 2 ? "\u0301" : "\u0323";
    const std::string spaces(1 << 20, ' ');
    for (const std::string& text : {letters, to_nfc(marks), spaces, spaces + "\n" + spaces}) {
        const Result<Ids> ids = tokenizer->encode_text(text);
        ASSERT_TRUE(ids) << ids.error().message;
        EXPECT_EQ(bytes_of(*tokenizer, *ids), text);
    }
}

TEST(TokenizerBpe, SpecialTokensAreFoundInMarkupOnly) {
    const TokenizerPtr tokenizer = must_make(test::trained_on(sample, 60));
    ASSERT_TRUE(tokenizer);
    const std::string text = "<|im_end|><think>";
    EXPECT_EQ(*tokenizer->encode({{text, true}}), (Ids{258, 259}));
    const Ids typed = *tokenizer->encode_text(text);
    for (const int32_t id : typed) EXPECT_EQ(tokenizer->special_name(id), "") << id;
    EXPECT_EQ(decode(*tokenizer, typed), text);
    EXPECT_EQ(tokenizer->token_bytes(258), "") << "control tokens have no bytes";
    EXPECT_EQ(tokenizer->token_bytes(259), "<think>");
    EXPECT_EQ(tokenizer->special_id("<|im_start|>"), 257);
    EXPECT_EQ(tokenizer->special_id("a"), -1);
    // Marks next to a special token join nothing across it.
    EXPECT_EQ(*tokenizer->encode({{"e<|im_end|>\u0301", true}}), (Ids{'e', 258, 0xCC, 0x81}));
}

TEST(TokenizerBpe, IdsBeyondTheTokensHaveNoBytes) {
    ByteVocabulary v = test::plain_bytes();
    v.vocab_size = 300;
    const TokenizerPtr tokenizer = must_make(v);
    ASSERT_TRUE(tokenizer);
    EXPECT_EQ(tokenizer->vocab_size(), 300);
    EXPECT_TRUE(tokenizer->encode({{.ids = {299}}}));
    for (const int32_t id : {261, 299, 300, -1, INT32_MAX}) EXPECT_EQ(tokenizer->token_bytes(id), "");
}

TEST(TokenizerBpe, MissingBytesAreNamed) {
    ByteVocabulary v = test::plain_bytes();
    v.types['q'] = 5;  // unused
    const TokenizerPtr tokenizer = must_make(v);
    ASSERT_TRUE(tokenizer);
    EXPECT_TRUE(tokenizer->encode_text("p"));
    const Result<Ids> ids = tokenizer->encode_text("q");
    ASSERT_FALSE(ids);
    EXPECT_NE(ids.error().message.find("0x71"), std::string::npos) << ids.error().message;
}

TEST(TokenizerBpe, RefusesEveryFaultOfAVocabulary) {
    const std::pair<const char*, void (*)(ByteVocabulary&)> cases[] = {
        {"is empty", [](ByteVocabulary& v) { v = {}; }},
        {"tokenizer.ggml.token_type has", [](ByteVocabulary& v) { v.types.pop_back(); }},
        {"Token 3 ('') in tokenizer.ggml.tokens is empty", [](ByteVocabulary& v) { v.tokens[3].clear(); }},
        {"unknown type 77", [](ByteVocabulary& v) { v.types[3] = 77; }},
        {"unknown type 0", [](ByteVocabulary& v) { v.types[3] = 0; }},
        {"Token 98 ('a') in tokenizer.ggml.tokens occurs a second time", [](ByteVocabulary& v) { v.tokens[98] = "a"; }},
        {"at most 4096", [](ByteVocabulary& v) { v.tokens[3].assign(5000, 'x'); }},
        {"Merge 0 ('a xy') in tokenizer.ggml.merges names 'xy', which is not in tokenizer.ggml.tokens",
         [](ByteVocabulary& v) { v.merges[0] = "a xy"; }},
        {"makes a token that is not in", [](ByteVocabulary& v) { v.merges[0] = "Q Q"; }},
        {"names '<think>', which is not in", [](ByteVocabulary& v) { v.merges[0] = "<think> a"; }},
        {"not two tokens", [](ByteVocabulary& v) { v.merges[0] = "ab"; }},
        {"not two tokens", [](ByteVocabulary& v) { v.merges[0] = "a "; }},
        {"not two tokens", [](ByteVocabulary& v) { v.merges[0] = ""; }},
        {"Merge 1", [](ByteVocabulary& v) { v.merges[1] = v.merges[0]; }},
        {"eos_token_id is 9999", [](ByteVocabulary& v) { v.special.end_of_text = 9999; }},
        {"eos_token_id is 9999",
         [](ByteVocabulary& v) {
             v.special.stops = {3, 9999};
         }},
        {"eot_token_id is -7", [](ByteVocabulary& v) { v.special.end_of_turn = -7; }},
        {"at most 1048576", [](ByteVocabulary& v) { v.vocab_size = 1 << 30; }},
    };
    for (const auto& [part, spoil] : cases) {
        ByteVocabulary v = test::trained_on(sample, 20);
        spoil(v);
        const Result<TokenizerPtr> made = v.make();
        ASSERT_FALSE(made) << "should be refused: " << part;
        EXPECT_NE(made.error().message.find(part), std::string::npos) << made.error().message;
    }
}

// A merge that made a tag out of text would let what a person types become one.
TEST(TokenizerBpe, NoMergeLeadsToASpecialToken) {
    ByteVocabulary v = test::plain_bytes();
    v.add("<t", 4);
    v.merges.push_back("< t");
    const Result<TokenizerPtr> made = v.make();
    ASSERT_FALSE(made);
    EXPECT_NE(made.error().message.find("makes a token that is not in"), std::string::npos) << made.error().message;
}

TEST(TokenizerBpe, GgufAndJsonDescribeTheSameTokens) {
    for (const BpeSplit split : {BpeSplit::qwen2, BpeSplit::qwen35}) {
        ByteVocabulary v = test::trained_on(sample, 60);
        v.split = split;
        test::GgufWriter file;
        v.write(file);
        file.u32("tokenizer.ggml.eos_token_id", 258);
        const std::vector<std::byte> bytes = file.finish();
        const auto text = open_model_text(bytes, "vocabulary");
        ASSERT_TRUE(text) << text.error().message;
        ASSERT_TRUE((*text)->tokenizer) << (*text)->tokenizer_error;
        const auto json = make_bpe_from_json(v.tokenizer_json(), v.special, 400);
        ASSERT_TRUE(json) << json.error().message;
        EXPECT_EQ((*json)->vocab_size(), 400);
        EXPECT_EQ((*json)->stop_ids(), (*text)->tokenizer->stop_ids());
        for (const std::string prompt : {sample, "<|im_start|>user\ne\u0301 the<|im_end|>", "a\u0300b 12 \n\n x"})
            EXPECT_EQ(*(*json)->encode({{prompt, true}}), *(*text)->tokenizer->encode({{prompt, true}})) << prompt;
    }
}

TEST(TokenizerBpe, UnknownSplitRulesAreNoReasonToRefuseAModel) {
    test::GgufWriter file;
    file.text("tokenizer.ggml.model", "gpt2");
    file.text("tokenizer.ggml.pre", "llama-bpe");
    file.texts("tokenizer.ggml.tokens", test::plain_bytes().tokens);
    file.texts("tokenizer.ggml.merges", {});
    const std::vector<std::byte> bytes = file.finish();
    const auto text = open_model_text(bytes, "vocabulary");
    ASSERT_TRUE(text) << text.error().message;
    EXPECT_FALSE((*text)->tokenizer);
    EXPECT_NE((*text)->tokenizer_error.find("'llama-bpe'"), std::string::npos) << (*text)->tokenizer_error;
}

TEST(TokenizerBpe, RefusesJsonThatIsNotSupported) {
    const std::pair<const char*, const char*> cases[] = {
        {R"("type":"BPE")", R"("type":"WordPiece")"},
        {R"("type":"NFC")", R"("type":"Lowercase")"},
        {R"("behavior":"Isolated")", R"("behavior":"Removed")"},
        {R"("use_regex":false)", R"("use_regex":true)"},
        {R"("type":"Split")", R"("type":"Digits")"},
        {R"(\\p{N}|)", R"(\\p{N}{1,3}|)"},
        {R"("dropout":null)", R"("dropout":0.1)"},
        {R"("lstrip":false)", R"("lstrip":true)"},
        {R"("id":256)", R"("id":-1)"},
        {R"("id":256)", R"("id":4000000000)"},
        {R"("id":256)", R"("id":97)"},
        {R"("merges":[)", R"("merges":[7,)"},
        {R"("merges":[)", R"("merges":[["a","b","c"],)"},
        {R"("merges":[)", R"("merges":["a nothing",)"},
        {R"("vocab":{)", R"("vocab":[{)"},
        {R"("content":"<think>")", R"("content":7)"},
    };
    const ByteVocabulary v = test::trained_on(sample, 20);
    const std::string sound = v.tokenizer_json();
    ASSERT_TRUE(make_bpe_from_json(sound, v.special, 0));
    for (const auto& [from, to] : cases) {
        std::string json = sound;
        const std::size_t place = json.find(from);
        ASSERT_NE(place, std::string::npos) << from;
        json.replace(place, std::string_view(from).size(), to);
        const Result<TokenizerPtr> made = make_bpe_from_json(json, v.special, 0);
        ASSERT_FALSE(made) << to;
        EXPECT_GT(made.error().message.size(), 20u);
    }
    for (std::size_t size = 0; size < sound.size(); size += 97)
        EXPECT_FALSE(make_bpe_from_json(std::string_view(sound).substr(0, size), v.special, 0)) << size;
}

}  // namespace
}  // namespace octavo
