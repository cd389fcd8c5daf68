// Whole checkpoints through open_model: those of this tree, and all shared ones where they are present.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "models/bundled/bundled.h"
#include "models/model.h"
#include "models/safetensors/checkpoint.h"
#include "tests/support/byte_vocabulary.h"
#include "tests/support/paths.h"
#include "tests/support/temporary_folder.h"

namespace octavo {
namespace {

using Json = nlohmann::json;

bool decodable(const std::string& type) {
    return std::any_of(weight_types().begin(), weight_types().end(),
                       [&](const WeightTypeSpec& spec) { return spec.name == type; });
}

// Every size in the fixture's description of its shape.
void expect_shape(const HybridConfig& config, const Json& shape) {
    const std::map<std::string, int> sizes = {
        {"V", config.vocab},          {"D", config.hidden},         {"L", config.layers},
        {"H", config.heads},          {"KV", config.kv_heads},      {"hd", config.head_dim},
        {"rot", config.rope_dims},    {"kh", config.gdn_key_heads}, {"vh", config.gdn_value_heads},
        {"kd", config.gdn_key_dim},   {"conv", config.conv_kernel}, {"E", config.experts},
        {"top", config.experts_used}, {"ff", config.expert_ff},     {"sff", config.shared_ff}};
    for (const auto& [name, size] : sizes) EXPECT_EQ(size, shape[name].get<int>()) << name;
    if (!shape.contains("recr")) return;
    for (int layer = 0; layer < config.layers; ++layer) {
        const bool recurrent = config.layer_kinds[static_cast<size_t>(layer)] == LayerKind::gated_delta_net;
        EXPECT_EQ(recurrent, shape["recr"][static_cast<size_t>(layer)] == 1) << layer;
    }
}

// Opens what the folder's index lists and the folder has (this tree has only the smaller files).
void open_all(const std::filesystem::path& folder, int& opened) {
    std::ifstream in(folder / "index.json");
    const Json index = Json::parse(in, nullptr, false);
    ASSERT_FALSE(index.empty());
    for (const auto& [name, entry] : index.items()) {
        SCOPED_TRACE(name);
        const std::filesystem::path file = folder / entry["file"].get<std::string>();
        if (!std::filesystem::exists(file)) continue;
        const auto model = open_model(file);
        bool supported = true;
        if (entry.contains("tensor_types")) {
            for (const auto& [type, count] : entry["tensor_types"].items()) supported = supported && decodable(type);
        }
        if (!supported) {
            ASSERT_FALSE(model);
            EXPECT_NE(model.error().message.find("is not supported yet"), std::string::npos) << model.error().message;
            continue;
        }
        ASSERT_TRUE(model) << model.error().message;
        EXPECT_EQ((*model)->config.architecture, entry["arch"].get<std::string>());
        if (entry.contains("shape")) expect_shape((*model)->config, entry["shape"]);
        ++opened;
    }
}

TEST(HybridOpen, CheckpointsOfThisTree) {
    int opened = 0;
    open_all(test::fixture_path("checkpoints"), opened);
    EXPECT_EQ(opened, 4);
}

TEST(HybridOpen, SharedCheckpoints) {
    const auto folder = test::shared_path("fixtures/checkpoints");
    if (!folder) GTEST_SKIP() << folder.error().message;
    int opened = 0;
    open_all(*folder, opened);
    EXPECT_GE(opened, 11);
}

TEST(HybridOpen, FoldersAndTheirParts) {
    for (const std::string name : {"hf-qwen3next", "hf-qwen35moe"}) {
        const auto folder = test::fixture_path("checkpoints/" + name);
        const auto model = open_model(folder);
        ASSERT_TRUE(model) << model.error().message;
        EXPECT_EQ((*model)->format, "safetensors");
        EXPECT_EQ((*model)->name, name);
        EXPECT_EQ((*model)->config.architecture, name.substr(3));
        EXPECT_EQ((*model)->weights.layers.size(), 4u);
        EXPECT_EQ((*model)->parameters, 258344);
        for (const char* part : {"config.json", "model.safetensors"}) {
            const auto by_part = open_model(folder / part);
            ASSERT_TRUE(by_part) << by_part.error().message;
            EXPECT_EQ((*by_part)->parameters, (*model)->parameters);
        }
    }
}

bool same_bytes(const Matrix& a, const Matrix& b) {
    return a.type == b.type && a.rows == b.rows && a.cols == b.cols &&
           std::memcmp(a.data, b.data, static_cast<size_t>(a.bytes())) == 0;
}

TEST(HybridOpen, ShardsHoldTheSameWeights) {
    const auto folder = test::shared_path("fixtures/checkpoints");
    if (!folder) GTEST_SKIP() << folder.error().message;
    const auto whole = open_model(*folder / "qwen35moe-q8_0.gguf");
    ASSERT_TRUE(whole) << whole.error().message;
    for (const char* shard : {"qwen35moe-q8_0-split-00001-of-00003.gguf", "qwen35moe-q8_0-split-00003-of-00003.gguf"}) {
        const auto split = open_model(*folder / shard);
        ASSERT_TRUE(split) << split.error().message;
        EXPECT_EQ((*split)->parameters, (*whole)->parameters);
        EXPECT_EQ((*split)->bytes_by_type, (*whole)->bytes_by_type);
        EXPECT_TRUE(same_bytes((*split)->weights.head, (*whole)->weights.head));
        for (size_t layer = 0; layer < (*whole)->weights.layers.size(); ++layer) {
            EXPECT_TRUE(same_bytes((*split)->weights.layers[layer].ffn.experts[5].down,
                                   (*whole)->weights.layers[layer].ffn.experts[5].down));
        }
    }
}

TEST(HybridOpen, AMissingShardIsNamed) {
    const auto first = test::shared_path("fixtures/checkpoints/qwen35moe-q8_0-split-00001-of-00003.gguf");
    if (!first) GTEST_SKIP() << first.error().message;
    const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "octavo-one-shard";
    std::filesystem::create_directories(folder);
    const auto options = std::filesystem::copy_options::overwrite_existing;
    std::filesystem::copy_file(*first, folder / first->filename(), options);
    const auto model = open_model(folder / first->filename());
    std::filesystem::remove_all(folder);
    ASSERT_FALSE(model);
    EXPECT_NE(model.error().message.find("file 2 of 3 ('qwen35moe-q8_0-split-00002-of-00003.gguf')"), std::string::npos)
        << model.error().message;
}

TEST(HybridOpen, TheBundledModelAndItsFolderDescribeTheSameModel) {
    const auto bundled = open_model(bundled_model(), "bundled");
    ASSERT_TRUE(bundled) << bundled.error().message;
    const Model& gguf = **bundled;
    EXPECT_EQ(gguf.name, "Pocket");
    EXPECT_EQ(gguf.source, "bundled");
    EXPECT_TRUE(gguf.notes.empty()) << gguf.notes[0];
    ASSERT_TRUE(gguf.tokenizer);
    EXPECT_EQ(gguf.tokenizer->vocab_size(), gguf.config.vocab);
    EXPECT_EQ(gguf.tokenizer->stop_ids(), (std::vector<int32_t>{2, 3}));
    EXPECT_TRUE(gguf.chat && gguf.chat->note().empty());

    const auto folder = test::shared_path("models/pocket/hf");
    if (!folder) GTEST_SKIP() << folder.error().message;
    const auto opened = open_model(*folder);
    ASSERT_TRUE(opened) << opened.error().message;
    const Model& hf = **opened;
    EXPECT_TRUE(hf.notes.empty()) << hf.notes[0];
    EXPECT_EQ(hf.config.layer_kinds, gguf.config.layer_kinds);
    EXPECT_EQ(hf.config.rope_frequencies, gguf.config.rope_frequencies);
    EXPECT_EQ(hf.config.conv_channels(), gguf.config.conv_channels());
    EXPECT_EQ(hf.config.context_length, gguf.config.context_length);
    EXPECT_EQ(hf.parameters, gguf.parameters);
    EXPECT_EQ(hf.sampling.temperature, 0.0f);
    ASSERT_TRUE(hf.tokenizer && hf.chat);
    EXPECT_EQ(hf.tokenizer->stop_ids(), gguf.tokenizer->stop_ids());
    // The GGUF file has the +1 of zero-centred norms already in it, and -exp(A_log) instead of A_log.
    for (int i = 0; i < gguf.config.hidden; ++i) {
        EXPECT_NEAR(hf.weights.layers[0].mixer_norm[i], gguf.weights.layers[0].mixer_norm[i], 1e-6);
    }
    for (int n = 0; n < 8; ++n) {  // value head n of the GGUF file is head 2 (n mod 4) + n div 4 of the folder
        EXPECT_NEAR(hf.weights.layers[0].delta_net->a_scale[2 * (n % 4) + n / 4],
                    gguf.weights.layers[0].delta_net->a_scale[n], 1e-5);
    }
}

// A checkpoint folder as they are published: everything it needs beside the weights.
TEST(HybridOpen, AFolderWithTokenizerJsonAndTemplateChats) {
    const TemporaryFolder folder;
    std::filesystem::copy(test::fixture_path("checkpoints/hf-qwen35moe"), folder.path());
    const auto write = [&](const char* name, const std::string& text) {
        std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_all);
        std::ofstream(folder.path() / name, std::ios::binary) << text;
    };
    test::ByteVocabulary vocabulary = test::plain_bytes();
    vocabulary.split = BpeSplit::qwen35;
    write("tokenizer.json", vocabulary.tokenizer_json());
    write(
        "generation_config.json",
        R"({"eos_token_id": [258, 256, 7], "temperature": 0.6, "top_k": 20, "top_p": 0.95, "repetition_penalty": 1.05})");
    write("chat_template.jinja", "{{ '<|im_start|>' }}<|im_end|>");
    const auto opened = open_model(folder.path());
    ASSERT_TRUE(opened) << opened.error().message;
    const Model& model = **opened;
    ASSERT_TRUE(model.tokenizer) << model.tokenizer_error;
    EXPECT_EQ(model.tokenizer->vocab_size(), model.config.vocab) << "the ids after the tokens too";
    EXPECT_EQ(model.tokenizer->stop_ids(), (std::vector<int32_t>{7, 256, 258}));
    EXPECT_EQ(*model.tokenizer->encode_text("e\u0301"), (std::vector<int32_t>{0xC3, 0xA9}));
    EXPECT_TRUE(model.notes.empty()) << model.notes[0];
    EXPECT_EQ(model.sampling.temperature, 0.6f);
    EXPECT_EQ(model.sampling.top_k, 20);
    EXPECT_EQ(model.sampling.top_p, 0.95f);
    EXPECT_EQ(model.sampling.repeat_penalty, 1.05f);
    EXPECT_FALSE(model.sampling.min_p);

    // The same text without weights, and what makes no sense left out with a note.
    std::filesystem::remove(folder.path() / "model.safetensors");
    write("generation_config.json", R"({"eos_token_id": 258, "temperature": -3, "top_k": 20})");
    const auto text = open_model_text(folder.path());
    ASSERT_TRUE(text) << text.error().message;
    EXPECT_EQ((*text)->tokenizer->stop_ids(), (std::vector<int32_t>{256, 258}));
    EXPECT_FALSE((*text)->sampling.temperature);
    EXPECT_EQ((*text)->sampling.top_k, 20);
    ASSERT_EQ((*text)->notes.size(), 1u);
    std::filesystem::remove(folder.path() / "chat_template.jinja");
    write("tokenizer_config.json",
          R"({"chat_template": [{"name": "other"}, {"name": "default", "template": "<|im_start|>"}]})");
    const auto listed = open_model_text(folder.path());
    ASSERT_TRUE(listed) << listed.error().message;
    EXPECT_NE((*listed)->chat->note(), "") << "the template of the list is one that is not known";
    EXPECT_NE((*text)->notes[0].find("temperature of -3"), std::string::npos) << (*text)->notes[0];
}

TEST(HybridOpen, SaysWhatIsMissing) {
    const auto nothing = open_model(test::fixture_path("no-such-file.gguf"));
    ASSERT_FALSE(nothing);
    EXPECT_NE(nothing.error().message.find("no-such-file.gguf"), std::string::npos);
    const auto no_model = open_model(test::fixture_path("tokenizer"));
    ASSERT_FALSE(no_model);
    EXPECT_NE(no_model.error().message.find("neither config.json nor safetensors"), std::string::npos)
        << no_model.error().message;
    const Status unreadable = check_checkpoint_folder(test::fixture_path("no-such-folder"));
    ASSERT_FALSE(unreadable);
    EXPECT_NE(unreadable.error().message.find("cannot be read"), std::string::npos) << unreadable.error().message;
}

}  // namespace
}  // namespace octavo
