// Files of random weights: they open like real ones, their logits are sane, the same request gives the same bytes, and
// nothing is left behind by one that fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "models/gguf/checkpoint.h"
#include "models/hybrid/forward.h"
#include "models/hybrid/placed_weights.h"
#include "models/model.h"
#include "models/random/random_blocks.h"
#include "models/random/random_file.h"
#include "tests/support/paths.h"
#include "tests/support/sequence.h"
#include "tests/support/temporary_folder.h"

namespace octavo::test {
namespace {

namespace fs = std::filesystem;

RandomFileRequest tiny_request(std::string_view type = "q8_0") {
    RandomFileRequest request;
    request.shape = find_model_shape("tiny");
    request.types = *parse_type_mix(type);
    return request;
}

Status write(const RandomFileRequest& request, const fs::path& path) {
    Job job;
    const Result<RandomFile> file = write_random_model(request, path, job);
    return file ? Status() : Status(file.error());
}

// [vocab], after all `ids`.
std::vector<float> last_logits(const Model& model, const std::vector<int32_t>& ids) {
    const std::unique_ptr<Backend> backend = make_reference_backend();
    Result<PlacedWeights> weights = place_weights(model.config, model.weights, *backend);
    EXPECT_TRUE(weights);
    Result<Forward> forward = Forward::create(model.config, weights->weights, *backend, 64);
    EXPECT_TRUE(forward);
    const int tokens = static_cast<int>(ids.size());
    TestSequence sequence(model.config, KvFormat::f32, tokens, backend->memory());
    std::vector<float> logits(static_cast<size_t>(model.config.vocab));
    EXPECT_TRUE(forward->run(ids, 0, sequence.state(), 1, logits.data()));
    return logits;
}

double root_mean_square(std::span<const float> values) {
    double sum = 0;
    for (const float value : values) sum += double{value} * value;
    return std::sqrt(sum / static_cast<double>(values.size()));
}

TEST(RandomBlocks, EveryTypeOfGgufCanBeWritten) {
    for (const WeightTypeSpec& spec : weight_types())
        EXPECT_EQ(can_fill(spec), spec.gguf_id != kNoGgufType) << spec.name;
}

TEST(RandomModel, FilesNameTheirMix) {
    const TemporaryFolder folder;
    for (const auto& [type, number] : {std::pair("q4_k_m", 15), {"q4_k", 14}, {"q8_0", 7}, {"q1_0", -1}}) {
        const fs::path path = folder / (std::string(type) + ".gguf");
        ASSERT_TRUE(write(tiny_request(type), path)) << type;
        const auto checkpoint = open_gguf(path);
        ASSERT_TRUE(checkpoint) << type;
        const auto found = checkpoint->metadata.integer("general.file_type");
        ASSERT_TRUE(found);
        EXPECT_EQ(found->value_or(-1), number) << type;
    }
}

TEST(RandomBlocks, HaveTheWantedSizeInEveryType) {
    for (const WeightTypeSpec& spec : weight_types()) {
        if (!can_fill(spec)) continue;
        for (const float deviation : {1.0f / std::sqrt(2048.0f), 1.0f / 16, 1.0f}) {
            const RandomBlocks blocks(spec, deviation);
            RandomStream random(3);
            constexpr int64_t kBlocks = 2048;
            std::vector<std::byte> bytes(static_cast<size_t>(kBlocks * spec.block_bytes));
            blocks.fill(bytes, random);
            std::vector<float> values(static_cast<size_t>(kBlocks * spec.block_values));
            spec.decode(bytes.data(), kBlocks, values.data());
            const double mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
            EXPECT_NEAR(root_mean_square(values) / deviation, 1, 0.05) << spec.name << " " << deviation;
            EXPECT_LT(std::abs(mean), 0.12 * deviation) << spec.name << " " << deviation;
        }
    }
}

TEST(RandomModel, OpensLikeARealOneAndItsLogitsAreSane) {
    const TemporaryFolder folder;
    for (const WeightTypeSpec& spec : weight_types()) {
        if (!can_fill(spec)) continue;
        RandomFileRequest request = tiny_request(spec.name);
        const fs::path path = folder / (std::string(spec.name) + ".gguf");
        ASSERT_TRUE(write(request, path)) << spec.name;
        const auto model = open_model(path);
        ASSERT_TRUE(model) << spec.name << ": " << model.error().message;
        EXPECT_EQ((*model)->config.layers, 8);
        EXPECT_EQ((*model)->config.attention_layers(), 2);
        EXPECT_EQ((*model)->config.experts, 8);
        const std::vector<float> logits = last_logits(**model, {1, 2, 3, 4, 5, 6, 7, 8});
        EXPECT_TRUE(std::all_of(logits.begin(), logits.end(), [](float v) { return std::isfinite(v); })) << spec.name;
        // About 1; the mean of lopsided codes (Q4_0, IQ4_NL) adds up in every product.
        EXPECT_GT(root_mean_square(logits), 0.5) << spec.name;
        EXPECT_LT(root_mean_square(logits), 2.5) << spec.name;
        const std::vector<float> others = last_logits(**model, {8, 7, 6, 5, 4, 3, 2, 1});
        EXPECT_NE(logits, others) << spec.name;
    }
}

TEST(RandomModel, TheSameRequestGivesTheSameBytes) {
    const TemporaryFolder folder;
    RandomFileRequest request = tiny_request();
    ASSERT_TRUE(write(request, folder / "a.gguf"));
    ASSERT_TRUE(write(request, folder / "b.gguf"));
    request.seed = 1;
    ASSERT_TRUE(write(request, folder / "c.gguf"));
    const auto a = read_file(folder / "a.gguf");
    EXPECT_EQ(*a, *read_file(folder / "b.gguf"));
    EXPECT_NE(*a, *read_file(folder / "c.gguf"));
}

TEST(RandomModel, ChangesOfTheShapeAreKept) {
    const TemporaryFolder folder;
    RandomFileRequest request = tiny_request();
    request.changes = {.layers = 3, .experts = 1, .draft = true};
    ASSERT_TRUE(write(request, folder / "a.gguf"));
    const auto model = open_model(folder / "a.gguf");
    ASSERT_TRUE(model) << model.error().message;
    EXPECT_EQ((*model)->config.layers, 3);
    EXPECT_EQ((*model)->config.attention_layers(), 0);
    EXPECT_EQ((*model)->config.experts_used, 1);
}

TEST(RandomModel, TheVocabularyMayBeSmaller) {
    const TemporaryFolder folder;
    RandomFileRequest request = tiny_request();
    request.shape = find_model_shape("35b-a3b");
    request.changes = {.layers = 1, .experts = 1, .vocab = kSmallestVocab};
    ASSERT_TRUE(write(request, folder / "a.gguf"));
    const auto model = open_model(folder / "a.gguf");
    ASSERT_TRUE(model) << model.error().message;
    EXPECT_EQ((*model)->config.vocab, kSmallestVocab);
    EXPECT_EQ((*model)->tokenizer->vocab_size(), kSmallestVocab);
    for (const int32_t id : (*model)->tokenizer->stop_ids()) EXPECT_LT(id, kSmallestVocab);
}

TEST(RandomModel, RealShapesHaveTheirParameters) {
    for (const auto& [name, billions] : {std::pair("35b-a3b", 34.66), std::pair("80b-a3b", 79.67)}) {
        const ModelShape* shape = find_model_shape(name);
        ASSERT_NE(shape, nullptr);
        int64_t parameters = 0;
        for (const ListedTensor& tensor : list_tensors(describe_shape(*shape, {}))) {
            int64_t count = 1;
            for (const int64_t extent : tensor.shape) count *= extent;
            parameters += count;
        }
        EXPECT_NEAR(static_cast<double>(parameters) * 1e-9, billions, 0.01) << name;
    }
}

TEST(RandomModel, TakesAnotherFilesTokenizer) {
    const TemporaryFolder folder;
    RandomFileRequest request = tiny_request();
    request.tokenizer = fixture_path("malformed/micro-qwen35moe.gguf");
    ASSERT_TRUE(fs::exists(request.tokenizer));
    ASSERT_TRUE(write(request, folder / "a.gguf"));
    const auto copy = open_model(folder / "a.gguf");
    const auto source = open_model(request.tokenizer);
    ASSERT_TRUE(copy) << copy.error().message;
    ASSERT_TRUE(source);
    EXPECT_EQ((*copy)->tokenizer_error, (*source)->tokenizer_error);
    ASSERT_EQ((*copy)->tokenizer != nullptr, (*source)->tokenizer != nullptr);
    if ((*copy)->tokenizer) {
        for (int id = 0; id < (*source)->tokenizer->vocab_size(); ++id)
            EXPECT_EQ((*copy)->tokenizer->token_bytes(id), (*source)->tokenizer->token_bytes(id)) << id;
    }
}

TEST(RandomModel, FilesAreNotOverwrittenUnasked) {
    const TemporaryFolder folder;
    RandomFileRequest request = tiny_request();
    ASSERT_TRUE(write(request, folder / "a.gguf"));
    const Status again = write(request, folder / "a.gguf");
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().kind, ErrorKind::usage);
    EXPECT_NE(again.error().message.find("--force"), std::string::npos);
    request.overwrite = true;
    EXPECT_TRUE(write(request, folder / "a.gguf"));
}

TEST(RandomModel, LinksAndDevicesAreNeverReplaced) {
    const TemporaryFolder folder;
    RandomFileRequest request = tiny_request();
    request.overwrite = true;
    fs::create_symlink("/dev/null", folder / "a.gguf");
    fs::create_symlink(folder / "elsewhere", folder / "b.gguf.part");
    for (const char* name : {"a.gguf", "b.gguf", "-"}) {
        const Status status = write(request, name == std::string("-") ? fs::path("-") : folder / name);
        ASSERT_FALSE(status) << name;
        EXPECT_EQ(status.error().kind, ErrorKind::usage) << name;
    }
    EXPECT_TRUE(fs::is_symlink(folder / "a.gguf"));
    EXPECT_FALSE(fs::exists(folder / "elsewhere"));
}

TEST(RandomModel, AnUnfinishedDownloadIsNotOverwrittenUnasked) {
    const TemporaryFolder folder;
    std::ofstream(folder / "a.gguf.part") << "half of a model";
    EXPECT_FALSE(write(tiny_request(), folder / "a.gguf"));
    EXPECT_EQ(fs::file_size(folder / "a.gguf.part"), 15u);
}

TEST(RandomModel, NothingIsLeftOfACancelledFile) {
    const TemporaryFolder folder;
    Job job;
    job.cancel();
    const Result<RandomFile> file = write_random_model(tiny_request(), folder / "a.gguf", job);
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().kind, ErrorKind::cancelled);
    EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(RandomModel, WhatCannotBeWrittenIsToldWithTheName) {
    const TemporaryFolder folder;
    const Status nowhere = write(tiny_request(), folder / "no/such/a.gguf");
    ASSERT_FALSE(nowhere);
    EXPECT_EQ(nowhere.error().kind, ErrorKind::io);
    EXPECT_NE(nowhere.error().message.find("no/such/a.gguf"), std::string::npos);
    EXPECT_FALSE(write(tiny_request(), folder.path()));
    EXPECT_FALSE(parse_type_mix("q9_z"));
    EXPECT_EQ(find_model_shape("900b"), nullptr);
}

}  // namespace
}  // namespace octavo::test
