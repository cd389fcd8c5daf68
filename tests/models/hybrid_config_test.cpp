// Sizes of the hybrid architecture from both kinds of metadata: what is read, what is derived, what is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "models/gguf/gguf_file.h"
#include "models/hybrid/config_reader.h"
#include "models/hybrid/rope.h"
#include "tests/support/gguf_writer.h"

namespace octavo {
namespace {

using Json = nlohmann::json;
using test::GgufWriter;

// Metadata of a small model; a test replaces or leaves out single keys.
class GgufConfigTest : public testing::Test {
  protected:
    std::string architecture_ = "qwen35moe";
    std::map<std::string, uint32_t> sizes_ = {{"block_count", 5},
                                              {"context_length", 512},
                                              {"embedding_length", 8},
                                              {"attention.head_count", 4},
                                              {"attention.head_count_kv", 2},
                                              {"attention.key_length", 16},
                                              {"attention.value_length", 16},
                                              {"rope.dimension_count", 8},
                                              {"expert_count", 6},
                                              {"expert_used_count", 2},
                                              {"expert_feed_forward_length", 4},
                                              {"expert_shared_feed_forward_length", 12},
                                              {"ssm.conv_kernel", 4},
                                              {"ssm.state_size", 8},
                                              {"ssm.group_count", 2},
                                              {"ssm.time_step_rank", 4},
                                              {"ssm.inner_size", 24}};
    std::map<std::string, float> reals_ = {{"attention.layer_norm_rms_epsilon", 1e-6f}, {"rope.freq_base", 1e4f}};
    std::vector<uint8_t> recurrent_;
    std::string scaling_;

    Result<HybridDescription> read() {
        GgufWriter writer;
        writer.text("general.architecture", architecture_);
        for (const auto& [key, value] : sizes_) writer.u32(architecture_ + "." + key, value);
        for (const auto& [key, value] : reals_) writer.f32(architecture_ + "." + key, value);
        if (!scaling_.empty()) writer.text(architecture_ + ".rope.scaling.type", scaling_);
        if (!recurrent_.empty()) {
            std::string array("\7\0\0\0", 4);
            const uint64_t count = recurrent_.size();
            array.append(reinterpret_cast<const char*>(&count), sizeof count);
            array.append(recurrent_.begin(), recurrent_.end());
            writer.raw(architecture_ + ".attention.recurrent_layers", 9, array);
        }
        writer.floats("token_embd.weight", {8, 40});
        bytes_ = writer.finish();
        auto file = parse_gguf(bytes_);
        if (!file) return file.error();
        TensorStore store;
        if (Status status = store.add(std::move(file->tensors)); !status) return status.error();
        return read_hybrid_config(file->metadata, store);
    }
    std::string failure() {
        const auto read_back = read();
        return read_back ? "accepted" : read_back.error().message;
    }

  private:
    std::vector<std::byte> bytes_;
};

TEST_F(GgufConfigTest, ReadsAndDerivesSizes) {
    const auto description = read();
    ASSERT_TRUE(description) << description.error().message;
    const HybridConfig& config = description->config;
    EXPECT_EQ(config.layers, 5);
    EXPECT_EQ(config.attention_layers(), 1);
    EXPECT_EQ(config.layer_kinds[3], LayerKind::full_attention);  // default interval 4
    EXPECT_EQ(config.vocab, 40);
    EXPECT_EQ(config.gdn_value_dim, 6);
    EXPECT_EQ(config.shared_ff, 12);
    EXPECT_EQ(config.conv_channels(), 2 * 2 * 8 + 4 * 6);
    EXPECT_TRUE(description->tied_embeddings);
    EXPECT_EQ(config.key_head_of_value_head, (std::vector<int32_t>{0, 1, 0, 1}));  // tiled
    ASSERT_EQ(config.rope_frequencies.size(), 4u);
    EXPECT_DOUBLE_EQ(config.rope_frequencies[1], 0.1);  // 1e4 ^ (-2 / 8)
    EXPECT_EQ(config.rope_scale, 1.0f);
}

TEST_F(GgufConfigTest, Qwen3NextOrdersValueHeadsByKeyHead) {
    architecture_ = "qwen3next";
    const auto description = read();
    ASSERT_TRUE(description) << description.error().message;
    EXPECT_EQ(description->config.key_head_of_value_head, (std::vector<int32_t>{0, 0, 1, 1}));
}

TEST_F(GgufConfigTest, DenseModelsHaveOneFeedForwardBlock) {
    architecture_ = "qwen35";
    sizes_["feed_forward_length"] = 20;
    sizes_.erase("expert_count");
    const auto description = read();
    ASSERT_TRUE(description) << description.error().message;
    EXPECT_EQ(description->config.experts, 0);
    EXPECT_EQ(description->config.shared_ff, 20);
}

TEST_F(GgufConfigTest, DraftBlocksAreNotLayers) {
    sizes_["nextn_predict_layers"] = 1;
    recurrent_ = {1, 0, 1, 0, 1};  // covers the draft block too
    const auto description = read();
    ASSERT_TRUE(description) << description.error().message;
    EXPECT_EQ(description->config.layers, 4);
    EXPECT_EQ(description->draft_layers, 1);
    EXPECT_EQ(description->config.attention_layers(), 2);
    recurrent_ = {1, 0, 1, 0};  // or the trunk only
    EXPECT_EQ(failure(), "accepted");
    recurrent_ = {1, 0, 1};
    EXPECT_EQ(failure(), "key 'qwen35moe.attention.recurrent_layers' has 3 entries for 5 layers");
}

TEST_F(GgufConfigTest, RefusesSizesThatDoNotFitEachOther) {
    const auto with = [&](const char* key, uint32_t value) {
        const uint32_t before = std::exchange(sizes_[key], value);
        const std::string message = failure();
        sizes_[key] = before;
        return message;
    };
    EXPECT_EQ(with("attention.head_count_kv", 3),
              "'qwen35moe.attention.head_count_kv' is 3 but "
              "'qwen35moe.attention.head_count' is 4; expected a divisor of it");
    EXPECT_EQ(with("ssm.group_count", 3),
              "'qwen35moe.ssm.group_count' is 3 but 'qwen35moe.ssm.time_step_rank' is 4; "
              "expected a divisor of it");
    EXPECT_NE(with("ssm.inner_size", 25).find("'qwen35moe.ssm.inner_size' is 25"), std::string::npos);
    EXPECT_NE(with("attention.value_length", 8).find("keys and values of unequal size"), std::string::npos);
    EXPECT_NE(with("rope.dimension_count", 7).find("'qwen35moe.rope.dimension_count' gives 7"), std::string::npos);
    EXPECT_NE(with("rope.dimension_count", 18).find("'qwen35moe.rope.dimension_count' gives 18"), std::string::npos);
    EXPECT_NE(with("attention.key_length", 0x80000000).find("'qwen35moe.attention.key_length' is 2147483648"),
              std::string::npos);
    EXPECT_NE(with("block_count", 4096).find("'qwen35moe.block_count' is 4096; expected 1 to 1024"), std::string::npos);
}

TEST_F(GgufConfigTest, ReadsYarnAndRefusesOtherScalings) {
    scaling_ = "yarn";
    reals_["rope.scaling.factor"] = 4;
    EXPECT_EQ(failure(), "key 'qwen35moe.rope.scaling.original_context_length' is missing; the file is incomplete");
    sizes_["rope.scaling.original_context_length"] = 256;
    const auto description = read();
    ASSERT_TRUE(description) << description.error().message;
    EXPECT_EQ(description->config.context_length, 1024);
    EXPECT_NEAR(description->config.rope_scale, 1 + 0.1 * std::log(4.0), 1e-7);
    scaling_ = "longrope";
    EXPECT_EQ(failure(), "'qwen35moe.rope.scaling.type' is 'longrope'; only none, linear and yarn are supported");
}

TEST(RopeTable, YarnKeepsFastWavesAndStretchesSlowOnes) {
    RopeSettings settings{
        .dims = 64, .theta = 1e7, .scaling = RopeScaling::yarn, .factor = 4, .original_context = 262144};
    const RopeTable table = make_rope_table(settings);
    const auto plain = [](int j) { return std::pow(1e7, -2.0 * j / 64); };
    ASSERT_EQ(table.frequencies.size(), 32u);
    for (int j = 0; j < 32; ++j) {
        const double turns = 262144 * plain(j) / (2 * std::numbers::pi);  // within the original context
        const double got = table.frequencies[static_cast<size_t>(j)];
        if (turns > 64) {
            EXPECT_DOUBLE_EQ(got, plain(j)) << j;
        } else if (turns < 0.5) {
            EXPECT_NEAR(got, plain(j) / 4, 1e-15) << j;
        } else {
            EXPECT_LE(got, plain(j) * (1 + 1e-12)) << j;
            EXPECT_GE(got, plain(j) / 4 * (1 - 1e-12)) << j;
        }
    }
    // By hand: dimensions of 32 turns and of 1 turn are 14.23 and 21.12, so the ramp runs from 14 to 22.
    EXPECT_NEAR(table.frequencies[18] / plain(18), 0.5 / 4 + 0.5, 1e-12);
}

TEST(RopeTable, LinearDividesAllFrequencies) {
    const RopeTable table = make_rope_table({.dims = 8, .theta = 1e4, .scaling = RopeScaling::linear, .factor = 2});
    EXPECT_DOUBLE_EQ(table.frequencies[0], 0.5);
    EXPECT_DOUBLE_EQ(table.frequencies[1], 0.05);
    EXPECT_EQ(table.scale, 1.0f);
}

Json small_json() {
    return Json::parse(R"({"model_type":"qwen3_5_moe","text_config":{"model_type":"qwen3_5_moe_text","hidden_size":8,
        "num_hidden_layers":4,"num_attention_heads":4,"num_key_value_heads":2,"head_dim":16,"rms_norm_eps":1e-6,
        "linear_num_key_heads":2,"linear_num_value_heads":4,"linear_key_head_dim":8,"linear_value_head_dim":6,
        "linear_conv_kernel_dim":4,"num_experts":6,"num_experts_per_tok":2,"moe_intermediate_size":4,
        "shared_expert_intermediate_size":12,"vocab_size":40,"max_position_embeddings":512,
        "rope_parameters":{"rope_type":"default","rope_theta":10000.0,"partial_rotary_factor":0.5}}})");
}

std::string json_failure(const Json& json) {
    const auto description = read_hybrid_config(json.dump());
    return description ? "accepted" : description.error().message;
}

TEST(JsonConfig, ReadsNestedAndFlatSettings) {
    const auto description = read_hybrid_config(small_json().dump());
    ASSERT_TRUE(description) << description.error().message;
    const HybridConfig& config = description->config;
    EXPECT_EQ(config.architecture, "qwen35moe");
    EXPECT_EQ(config.rope_dims, 8);
    EXPECT_DOUBLE_EQ(config.rope_frequencies[1], 0.1);
    EXPECT_EQ(config.layer_kinds[3], LayerKind::full_attention);
    EXPECT_EQ(config.key_head_of_value_head, (std::vector<int32_t>{0, 0, 1, 1}));
    EXPECT_FALSE(description->tied_embeddings);

    Json flat = small_json()["text_config"];
    flat.erase("rope_parameters");
    flat["rope_theta"] = 10000;
    flat["partial_rotary_factor"] = 0.5;
    flat["model_type"] = "qwen3_next";
    flat["tie_word_embeddings"] = true;
    const auto older = read_hybrid_config(flat.dump());
    ASSERT_TRUE(older) << older.error().message;
    EXPECT_EQ(older->config.architecture, "qwen3next");
    EXPECT_EQ(older->config.rope_frequencies, config.rope_frequencies);
    EXPECT_TRUE(older->tied_embeddings);
}

TEST(JsonConfig, ReadsYarn) {
    Json json = small_json();
    json["text_config"]["rope_parameters"] = {{"rope_type", "yarn"},
                                              {"rope_theta", 1e4},
                                              {"partial_rotary_factor", 0.5},
                                              {"factor", 4.0},
                                              {"original_max_position_embeddings", 256}};
    const auto description = read_hybrid_config(json.dump());
    ASSERT_TRUE(description) << description.error().message;
    EXPECT_EQ(description->config.context_length, 1024);
    EXPECT_NEAR(description->config.rope_scale, 1 + 0.1 * std::log(4.0), 1e-7);
}

TEST(JsonConfig, RefusesWhatWouldChangeTheArithmetic) {
    const std::map<std::string, Json> variants = {{"attention_bias", true},
                                                  {"norm_topk_prob", false},
                                                  {"hidden_act", "gelu"},
                                                  {"decoder_sparse_step", 2},
                                                  {"mlp_only_layers", {1}},
                                                  {"attn_output_gate", false},
                                                  {"layer_types", {"full_attention"}},
                                                  {"num_experts", 0},
                                                  {"head_dim", "16"},
                                                  {"rms_norm_eps", 1.0},
                                                  {"num_experts_per_tok", 7},
                                                  {"hidden_size", 1e30},
                                                  {"vocab_size", UINT64_MAX},
                                                  {"linear_num_key_heads", 3}};
    for (const auto& [key, value] : variants) {
        Json json = small_json();
        json["text_config"][key] = value;
        EXPECT_NE(json_failure(json).find("'" + key + "'"), std::string::npos) << key << ": " << json_failure(json);
    }
    Json quantised = small_json();
    quantised["quantization_config"] = {{"quant_method", "awq"}};
    EXPECT_NE(json_failure(quantised).find("quantised by 'awq'"), std::string::npos) << json_failure(quantised);
    quantised["quantization_config"] = {{"quant_method", "fp8"}, {"weight_block_size", {64, 64}}};
    EXPECT_NE(json_failure(quantised).find("'weight_block_size'"), std::string::npos) << json_failure(quantised);
    quantised["quantization_config"] = 7;
    EXPECT_NE(json_failure(quantised).find("is not an object"), std::string::npos) << json_failure(quantised);
    quantised["quantization_config"] = {{"quant_method", "modelopt"}, {"quant_algo", "NVFP4"}};
    EXPECT_TRUE(read_hybrid_config(quantised.dump()));
    Json missing = small_json();
    missing["text_config"].erase("num_experts");
    EXPECT_EQ(json_failure(missing), "'num_experts' is missing in config.json; the file is incomplete");
    Json other = small_json();
    other["model_type"] = "llama";
    EXPECT_NE(json_failure(other).find("'llama'"), std::string::npos);
    EXPECT_FALSE(read_hybrid_config("[1"));
    EXPECT_FALSE(read_hybrid_config("[]"));
}

}  // namespace
}  // namespace octavo
