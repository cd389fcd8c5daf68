// The GGUF parser on files written here: values, types, tensors, and faults that the shared files do not have.
#include "models/gguf/gguf_file.h"

#include <gtest/gtest.h>

#include <cstring>

#include "models/gguf/checkpoint.h"
#include "models/gguf/tensor_type.h"
#include "models/gguf/vocabulary.h"
#include "tests/support/gguf_writer.h"

namespace octavo {
namespace {

using test::GgufWriter;

std::string failure(const std::vector<std::byte>& bytes) {
    const auto file = parse_gguf(bytes);
    return file ? "accepted" : file.error().message;
}

TEST(GgufFile, ReadsValuesOfEveryKind) {
    GgufWriter writer;
    writer.u32("a.u32", 7);
    writer.i32("a.i32", -7);
    writer.u64("a.u64", uint64_t{1} << 63);
    writer.f32("a.f32", 0.5f);
    writer.raw("a.f64", 12, std::string("\0\0\0\0\0\0\xf0\x3f", 8));
    writer.boolean("a.bool", true);
    writer.text("a.text", "hello");
    writer.texts("a.texts", {"one", "", "three"});
    writer.i32s("a.i32s", {3, -1});
    const auto bytes = writer.finish();
    const auto file = parse_gguf(bytes);
    ASSERT_TRUE(file) << file.error().message;
    const GgufMetadata& metadata = file->metadata;
    EXPECT_EQ(**metadata.integer("a.u32"), 7);
    EXPECT_EQ(**metadata.integer("a.i32"), -7);
    EXPECT_FALSE(metadata.integer("a.u64"));  // does not fit
    EXPECT_EQ(**metadata.real("a.f32"), 0.5);
    EXPECT_EQ(**metadata.real("a.f64"), 1.0);
    EXPECT_EQ(**metadata.boolean("a.bool"), true);
    EXPECT_EQ(**metadata.text("a.text"), "hello");
    EXPECT_EQ(**metadata.texts("a.texts", 3), (std::vector<std::string_view>{"one", "", "three"}));
    EXPECT_EQ(**metadata.integers("a.i32s", 2), (std::vector<int64_t>{3, -1}));
    EXPECT_FALSE(*metadata.integer("absent"));
    EXPECT_FALSE(*metadata.texts("absent", 1));
}

TEST(GgufFile, NamesKeyAndTypesWhenAValueIsOfAnotherKind) {
    GgufWriter writer;
    writer.f32("a.f32", 0.5f);
    writer.i32s("a.i32s", {1, 2, 3});
    const auto bytes = writer.finish();
    const auto file = parse_gguf(bytes);
    ASSERT_TRUE(file);
    EXPECT_EQ(file->metadata.integer("a.f32").error().message, "key 'a.f32' is of type F32; expected an integer");
    EXPECT_EQ(file->metadata.texts("a.i32s", 9).error().message,
              "key 'a.i32s' is of type array of 3 I32; expected an array of text");
    EXPECT_EQ(file->metadata.integers("a.i32s", 2).error().message,
              "key 'a.i32s' is an array of 3; at most 2 are sensible");
}

TEST(GgufFile, ShowsValuesForPeople) {
    GgufWriter writer;
    writer.i32("i", -3);
    writer.u64("u", UINT64_MAX);
    writer.f32("f", 0.25f);
    writer.boolean("b", false);
    writer.text("t", "line\nbreak");
    writer.texts("a", {"x", "y"});
    const auto bytes = writer.finish();
    const auto file = parse_gguf(bytes);
    ASSERT_TRUE(file);
    std::vector<std::string> shown;
    for (const GgufEntry& entry : file->metadata.entries()) shown.push_back(value_text(entry));
    EXPECT_EQ(shown, (std::vector<std::string>{"-3", "18446744073709551615", "0.25", "false", "'line\\x0abreak'",
                                               "array of 2 string"}));
}

TEST(GgufFile, TurnsShapesOutermostFirstAndPlacesData) {
    GgufWriter writer;
    writer.floats("small", {3}, 1.0f);
    writer.floats("stack", {4, 3, 2}, 2.0f);
    const auto bytes = writer.finish();
    const auto file = parse_gguf(bytes);
    ASSERT_TRUE(file) << file.error().message;
    const StoredTensor& stack = file->tensors[1];
    EXPECT_EQ(stack.shape, (std::vector<int64_t>{2, 3, 4}));
    EXPECT_EQ(stack.data.size(), 4u * 3 * 2 * 4);
    EXPECT_EQ(stack.type_name, "F32");
    float first = 0;
    std::memcpy(&first, stack.data.data(), sizeof first);
    EXPECT_EQ(first, 2.0f);
}

TEST(GgufFile, KnowsTheSizeOfTypesItCannotDecode) {
    GgufWriter writer;
    writer.tensor("w", {256, 2}, 12, std::string(2 * 144, '\0'));
    const auto bytes = writer.finish();
    const auto file = parse_gguf(bytes);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(file->tensors[0].type_name, "Q4_K");
    EXPECT_EQ(file->tensors[0].data.size(), 288u);
}

TEST(GgufFile, BlockTableAgreesWithTheWeightTypes) {
    for (const WeightTypeSpec& spec : weight_types()) {
        if (spec.gguf_id == kNoGgufType) continue;
        const GgufBlock* block = find_gguf_block(spec.gguf_id);
        ASSERT_NE(block, nullptr) << spec.name;
        EXPECT_EQ(block->values, spec.block_values) << spec.name;
        EXPECT_EQ(block->bytes, spec.block_bytes) << spec.name;
    }
    for (uint32_t id = 0; id < 64; ++id) {
        EXPECT_EQ(find_gguf_block(id) != nullptr, !weight_type_name(id).empty()) << "type " << id;
    }
}

TEST(GgufFile, RefusesDuplicatesAndOverlaps) {
    GgufWriter keys;
    keys.u32("twice", 1);
    keys.u32("once", 1);
    keys.u32("twice", 2);
    EXPECT_EQ(failure(keys.finish()), "key 'twice' occurs twice");

    GgufWriter overlap;
    overlap.floats("a", {16});
    overlap.tensor("b", {8}, 0, std::string(32, '\0'), 32);
    EXPECT_EQ(failure(overlap.finish()), "tensor 'b' overlaps tensor 'a'");

    GgufWriter beside;
    beside.tensor("late", {8}, 0, std::string(32, '\0'), 32);
    beside.tensor("early", {8}, 0, std::string(32, '\0'), 0);
    EXPECT_EQ(failure(beside.finish()), "accepted");
}

TEST(GgufFile, EscapesAndShortensNames) {
    GgufWriter newline;
    newline.u32("a\nb", 1);
    EXPECT_EQ(failure(newline.finish()), "key 'a\\x0ab' is not plain ASCII text");
    GgufWriter name;
    name.floats(std::string(65, 'n'), {1});
    EXPECT_NE(failure(name.finish()).find("longer than 64 bytes"), std::string::npos);
    GgufWriter key;
    key.u32(std::string(70000, 'k'), 1);
    EXPECT_NE(failure(key.finish()).find("key 1 of 1"), std::string::npos);
}

TEST(GgufFile, AMillionKeysAreRefusedBeforeTheyCost) {
    GgufWriter writer;
    for (int i = 0; i < 70000; ++i) writer.boolean(std::to_string(i), true);
    EXPECT_EQ(failure(writer.finish()), "kv_count is 70000; at most 65536 are accepted");
}

TEST(GgufCheckpoint, AShardInMemoryIsRefused) {
    GgufWriter writer;
    writer.u32("split.count", 2);
    const auto checkpoint = open_gguf(writer.finish());
    ASSERT_FALSE(checkpoint);
    EXPECT_EQ(checkpoint.error().message, "key 'split.count' is 2; only a whole model can be read from memory");
}

class GgufVocabularyTest : public testing::Test {
  protected:
    Result<std::optional<GgufVocabulary>> read(int vocab = 3) {
        bytes_ = writer_.finish();
        auto file = parse_gguf(bytes_);
        EXPECT_TRUE(file);
        return read_gguf_vocabulary(file->metadata, vocab);
    }
    GgufWriter writer_;
    std::vector<std::byte> bytes_;
};

TEST_F(GgufVocabularyTest, ReadsArraysAndIds) {
    writer_.text("tokenizer.ggml.model", "llama");
    writer_.texts("tokenizer.ggml.tokens", {"<unk>", "a", "b"});
    writer_.i32s("tokenizer.ggml.token_type", {2, 1, 1});
    writer_.u32("tokenizer.ggml.eos_token_id", 2);
    writer_.boolean("tokenizer.ggml.add_space_prefix", false);
    const auto vocabulary = read();
    ASSERT_TRUE(vocabulary) << vocabulary.error().message;
    EXPECT_EQ((*vocabulary)->tokens[1], "a");
    EXPECT_EQ((*vocabulary)->types, (std::vector<int32_t>{2, 1, 1}));
    EXPECT_EQ((*vocabulary)->eos, 2);
    EXPECT_EQ((*vocabulary)->padding, -1);
    EXPECT_FALSE((*vocabulary)->add_space_prefix);
}

TEST_F(GgufVocabularyTest, AFileWithoutTokenizerHasNone) {
    const auto vocabulary = read();
    ASSERT_TRUE(vocabulary);
    EXPECT_FALSE(*vocabulary);
}

TEST_F(GgufVocabularyTest, RefusesMoreTokensThanTheEmbeddingHas) {
    writer_.text("tokenizer.ggml.model", "llama");
    writer_.texts("tokenizer.ggml.tokens", {"a", "b", "c"});
    EXPECT_EQ(read(2).error().message, "key 'tokenizer.ggml.tokens' has 3 tokens, but the embedding has 2 rows");
}

}  // namespace
}  // namespace octavo
