// Tensors of both formats to HybridWeights: order of rows, transforms, alternatives, and what is refused.
#include "models/hybrid/weights_reader.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <deque>

namespace octavo {
namespace {

// Sizes that all differ, so that a mix-up cannot pass: 2 layers (Gated DeltaNet, attention), dense or 2 experts.
HybridDescription small_description(int experts) {
    HybridDescription description;
    HybridConfig& c = description.config;
    c.architecture = "qwen3next";
    c.layers = 2;
    c.layer_kinds = {LayerKind::gated_delta_net, LayerKind::full_attention};
    c.hidden = 5;
    c.vocab = 11;
    c.heads = 6;
    c.kv_heads = 3;
    c.head_dim = 4;
    c.gdn_key_heads = 2;
    c.gdn_value_heads = 6;
    c.gdn_key_dim = 3;
    c.gdn_value_dim = 2;
    c.conv_kernel = 4;
    c.key_head_of_value_head = {0, 0, 0, 1, 1, 1};
    c.experts = experts;
    c.experts_used = experts;
    c.expert_ff = 7;
    c.shared_ff = 9;
    return description;
}

// A checkpoint in memory. Every value of a tensor is its row's number, unless given.
class Checkpoint {
  public:
    void add(const std::string& name, std::vector<int64_t> shape) {
        StoredTensor tensor{name, "F32", find_weight_type(0), std::move(shape), {}};
        std::vector<float>& values = values_.emplace_back(static_cast<size_t>(tensor.elements()));
        const auto cols = static_cast<size_t>(tensor.shape.back());
        for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i / cols);
        put(std::move(tensor), values);
    }
    void add(const std::string& name, std::vector<int64_t> shape, std::vector<float> given) {
        put({name, "F32", find_weight_type(0), std::move(shape), {}}, values_.emplace_back(std::move(given)));
    }
    void put(StoredTensor tensor, std::span<const float> values) {
        tensor.data = std::as_bytes(values);
        put(std::move(tensor));
    }
    void put(StoredTensor tensor) {
        erase(tensor.name);
        tensors_.push_back(std::move(tensor));
    }
    void erase(const std::string& name) {
        std::erase_if(tensors_, [&](const StoredTensor& tensor) { return tensor.name == name; });
    }
    Result<HybridWeightsFile> read(const HybridDescription& description, const TensorNames& names) {
        store_ = {};
        if (Status status = store_.add(tensors_); !status) return status.error();
        return read_hybrid_weights(description, store_, names, "layers");
    }
    std::string failure(const HybridDescription& description, const TensorNames& names) {
        const auto file = read(description, names);
        return file ? "accepted" : file.error().message;
    }

  private:
    std::deque<std::vector<float>> values_;
    std::vector<StoredTensor> tensors_;
    TensorStore store_;
};

void add_common(Checkpoint& checkpoint, const TensorNames& names) {
    const LayerTensorNames& n = names.layer;
    checkpoint.add(std::string(names.embedding), {11, 5});
    checkpoint.add(std::string(names.head), {11, 5});
    checkpoint.add(std::string(names.final_norm), {5}, {0, 1, 2, 3, 4});
    const std::string prefix(names.layer_prefix.substr(0, names.layer_prefix.find('{')));
    const std::string first = prefix + "0.";
    const std::string second = prefix + "1.";
    for (const std::string& layer : {first, second}) {
        checkpoint.add(layer + std::string(n.mixer_norm), {5}, {0, 1, 2, 3, 4});
        checkpoint.add(layer + std::string(n.ffn_norm), {5}, {0, 1, 2, 3, 4});
    }
    checkpoint.add(first + std::string(n.gdn_qkv), {24, 5});
    checkpoint.add(first + std::string(n.gdn_z), {12, 5});
    checkpoint.add(first + std::string(n.gdn_b), {6, 5});
    checkpoint.add(first + std::string(n.gdn_a), {6, 5});
    checkpoint.add(first + std::string(n.gdn_out), {5, 12});
    checkpoint.add(first + std::string(n.conv), {24, 1, 4});
    checkpoint.add(first + std::string(n.a_scale), {6}, {0, 1, 2, 3, 4, 5});
    checkpoint.add(first + std::string(n.dt_bias), {6});
    checkpoint.add(first + std::string(n.gdn_norm), {2}, {7, 8});
    checkpoint.add(second + std::string(n.q), {48, 5});
    checkpoint.add(second + std::string(n.k), {12, 5});
    checkpoint.add(second + std::string(n.v), {12, 5});
    checkpoint.add(second + std::string(n.attention_out), {5, 24});
    checkpoint.add(second + std::string(n.q_norm), {4}, {0, 1, 2, 3});
    checkpoint.add(second + std::string(n.k_norm), {4}, {0, 1, 2, 3});
}

Checkpoint dense_checkpoint(const TensorNames& names) {
    Checkpoint checkpoint;
    add_common(checkpoint, names);
    const std::string prefix(names.layer_prefix.substr(0, names.layer_prefix.find('{')));
    for (const std::string& layer : {prefix + "0.", prefix + "1."}) {
        checkpoint.add(layer + std::string(names.layer.dense_gate), {9, 5});
        checkpoint.add(layer + std::string(names.layer.dense_up), {9, 5});
        checkpoint.add(layer + std::string(names.layer.dense_down), {5, 9});
    }
    return checkpoint;
}

// A matrix's first value of a row, which names the row here.
float row_value(const Matrix& matrix, int64_t row) {
    float value = -1;
    std::memcpy(&value, matrix.row(row), sizeof value);
    return value;
}

TEST(HybridWeights, DenseGgufIsReadAsItStands) {
    const TensorNames& names = gguf_tensor_names();
    Checkpoint checkpoint = dense_checkpoint(names);
    const auto file = checkpoint.read(small_description(0), names);
    ASSERT_TRUE(file) << file.error().message;
    ASSERT_EQ(file->weights.layers.size(), 2u);
    const LayerWeights& gdn = file->weights.layers[0];
    const LayerWeights& attention = file->weights.layers[1];
    ASSERT_TRUE(gdn.delta_net && !gdn.attention);
    ASSERT_TRUE(attention.attention && !attention.delta_net);
    EXPECT_EQ(gdn.mixer_norm[1], 1.0f);
    EXPECT_EQ(gdn.delta_net->a_scale[2], 2.0f);
    EXPECT_EQ(gdn.delta_net->conv[4 * 23 + 3], 23.0f);
    EXPECT_TRUE(gdn.delta_net->qkvz.source.empty());
    ASSERT_EQ(gdn.delta_net->qkvz.parts.size(), 2u);
    EXPECT_EQ(gdn.delta_net->qkvz.parts[1].rows, 12);
    EXPECT_EQ(attention.attention->q_gate.rows, 48);
    ASSERT_TRUE(gdn.ffn.shared);
    EXPECT_EQ(gdn.ffn.shared->down.cols, 9);
    EXPECT_EQ(gdn.ffn.router.rows, 0);
    EXPECT_EQ(gdn.ffn.shared_gate.rows, 0);
    EXPECT_TRUE(file->notes.empty());
    // One norm per head, repeated.
    for (int i = 0; i < 24; ++i) EXPECT_EQ(attention.attention->q_norm[i], static_cast<float>(i % 4));
    for (int i = 0; i < 12; ++i) EXPECT_EQ(attention.attention->k_norm[i], static_cast<float>(i % 4));
}

TEST(HybridWeights, SafetensorsNormsAreZeroCentredAndAIsALogarithm) {
    const TensorNames& names = hf_multimodal_tensor_names();
    Checkpoint checkpoint = dense_checkpoint(names);
    const auto file = checkpoint.read(small_description(0), names);
    ASSERT_TRUE(file) << file.error().message;
    const LayerWeights& gdn = file->weights.layers[0];
    EXPECT_EQ(file->weights.final_norm[2], 3.0f);
    EXPECT_EQ(gdn.mixer_norm[1], 2.0f);
    EXPECT_EQ(gdn.ffn_norm[1], 2.0f);
    EXPECT_EQ(gdn.delta_net->norm[1], 8.0f);  // the output norm is a plain factor
    EXPECT_NEAR(gdn.delta_net->a_scale[2], -std::exp(2.0f), 1e-6f);
    EXPECT_EQ(gdn.delta_net->dt_bias[0], 0.0f);
    EXPECT_EQ(file->weights.layers[1].attention->q_norm[5], 2.0f);
    EXPECT_EQ(file->weights.layers[1].attention->k_norm[7], 4.0f);
}

// The layout of model_spec section 4.1, written out: 3 value heads a key head, q 3, k 3, v 3x2, z 3x2 rows a group.
TEST(HybridWeights, FusedProjectionsAreOrderedByHead) {
    const TensorNames& names = hf_text_tensor_names();
    Checkpoint checkpoint = dense_checkpoint(names);
    for (const std::string name : {"qkv", "z", "b", "a"}) {
        checkpoint.erase("model.layers.0.linear_attn.in_proj_" + name + ".weight");
    }
    checkpoint.add("model.layers.0.linear_attn.in_proj_qkvz.weight", {36, 5});
    checkpoint.add("model.layers.0.linear_attn.in_proj_ba.weight", {12, 5});
    const auto file = checkpoint.read(small_description(0), names);
    ASSERT_TRUE(file) << file.error().message;
    const DeltaNetWeights& weights = *file->weights.layers[0].delta_net;
    std::vector<int32_t> q, k, v, z, b, a;
    for (int group = 0; group < 2; ++group) {
        int row = group * 18;
        for (int i = 0; i < 3; ++i) q.push_back(row++);
        for (int i = 0; i < 3; ++i) k.push_back(row++);
        for (int i = 0; i < 6; ++i) v.push_back(row++);
        for (int i = 0; i < 6; ++i) z.push_back(row++);
        for (int i = 0; i < 3; ++i) b.push_back(group * 6 + i);
        for (int i = 0; i < 3; ++i) a.push_back(group * 6 + 3 + i);
    }
    std::vector<int32_t> qkvz;
    for (const auto& part : {q, k, v, z}) qkvz.insert(qkvz.end(), part.begin(), part.end());
    b.insert(b.end(), a.begin(), a.end());
    EXPECT_EQ(std::vector<int32_t>(weights.qkvz.source.begin(), weights.qkvz.source.end()), qkvz);
    EXPECT_EQ(std::vector<int32_t>(weights.ba.source.begin(), weights.ba.source.end()), b);
    ASSERT_EQ(weights.qkvz.parts.size(), 1u);
    EXPECT_EQ(weights.qkvz.parts[0].rows, 36);
}

TEST(HybridWeights, FusedAttentionIsCutIntoQKV) {
    const TensorNames& names = gguf_tensor_names();
    Checkpoint checkpoint = dense_checkpoint(names);
    for (const std::string name : {"q", "k", "v"}) checkpoint.erase("blk.1.attn_" + name + ".weight");
    checkpoint.add("blk.1.attn_qkv.weight", {72, 5});
    const auto file = checkpoint.read(small_description(0), names);
    ASSERT_TRUE(file) << file.error().message;
    const AttentionWeights& attention = *file->weights.layers[1].attention;
    EXPECT_EQ(attention.q_gate.rows, 48);
    EXPECT_EQ(row_value(attention.k, 0), 48.0f);
    EXPECT_EQ(row_value(attention.v, 11), 71.0f);
}

class ExpertsTest : public testing::Test {
  protected:
    void add_mixture(Checkpoint& checkpoint, const TensorNames& names) {
        const LayerTensorNames& n = names.layer;
        const std::string prefix(names.layer_prefix.substr(0, names.layer_prefix.find('{')));
        for (const std::string& layer : {prefix + "0.", prefix + "1."}) {
            checkpoint.add(layer + std::string(n.router), {2, 5});
            checkpoint.add(layer + std::string(n.shared_gate), {9, 5});
            checkpoint.add(layer + std::string(n.shared_up), {9, 5});
            checkpoint.add(layer + std::string(n.shared_down), {5, 9});
            checkpoint.add(layer + std::string(n.shared_switch), {5});
            checkpoint.add(layer + std::string(n.expert_downs), {2, 5, 7});
        }
    }
    const FfnMatrices& second_expert(const HybridWeightsFile& file) { return file.weights.layers[1].ffn.experts.at(1); }
};

TEST_F(ExpertsTest, StackedFusedAndSingle) {
    const TensorNames& gguf = gguf_tensor_names();
    Checkpoint stacked;
    add_common(stacked, gguf);
    add_mixture(stacked, gguf);
    Checkpoint fused = stacked;
    for (const std::string layer : {"blk.0.", "blk.1."}) {
        stacked.add(layer + "ffn_gate_exps.weight", {2, 7, 5});
        stacked.add(layer + "ffn_up_exps.weight", {2, 7, 5});
        fused.add(layer + "ffn_gate_up_exps.weight", {2, 14, 5});
    }
    const auto a = stacked.read(small_description(2), gguf);
    ASSERT_TRUE(a) << a.error().message;
    EXPECT_EQ(row_value(second_expert(*a).gate, 0), 7.0f);
    EXPECT_EQ(row_value(second_expert(*a).up, 0), 7.0f);
    EXPECT_EQ(row_value(second_expert(*a).down, 0), 5.0f);
    EXPECT_EQ(a->weights.layers[0].ffn.shared_gate.rows, 1);

    const auto b = fused.read(small_description(2), gguf);
    ASSERT_TRUE(b) << b.error().message;
    EXPECT_EQ(row_value(second_expert(*b).gate, 0), 14.0f);
    EXPECT_EQ(row_value(second_expert(*b).up, 0), 21.0f);

    const TensorNames& hf = hf_text_tensor_names();
    Checkpoint single;
    add_common(single, hf);
    add_mixture(single, hf);
    for (const std::string layer : {"model.layers.0.", "model.layers.1."}) {
        single.erase(layer + "mlp.experts.down_proj");
        for (const std::string expert : {"0", "1"}) {
            single.add(layer + "mlp.experts." + expert + ".gate_proj.weight", {7, 5});
            single.add(layer + "mlp.experts." + expert + ".up_proj.weight", {7, 5});
            single.add(layer + "mlp.experts." + expert + ".down_proj.weight", {5, 7});
        }
    }
    const auto c = single.read(small_description(2), hf);
    ASSERT_TRUE(c) << c.error().message;
    EXPECT_EQ(second_expert(*c).down.rows, 5);
    EXPECT_NE(second_expert(*c).gate.data, c->weights.layers[1].ffn.experts[0].gate.data);
    single.erase("model.layers.1.mlp.experts.1.up_proj.weight");
    EXPECT_EQ(single.failure(small_description(2), hf),
              "tensor 'model.layers.1.mlp.experts.1.up_proj.weight' is missing; the file is incomplete");
}

TEST(HybridWeights, TiedEmbeddingsNeedNoHead) {
    const TensorNames& names = gguf_tensor_names();
    Checkpoint checkpoint = dense_checkpoint(names);
    checkpoint.erase("output.weight");
    HybridDescription description = small_description(0);
    EXPECT_EQ(checkpoint.failure(description, names), "tensor 'output.weight' is missing; the file is incomplete");
    description.tied_embeddings = true;
    const auto file = checkpoint.read(description, names);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(file->weights.head.data, file->weights.embedding.data);
}

TEST(HybridWeights, RefusesByTensorName) {
    const TensorNames& names = gguf_tensor_names();
    const HybridDescription description = small_description(0);
    Checkpoint checkpoint = dense_checkpoint(names);

    Checkpoint shape = checkpoint;
    shape.add("blk.0.ssm_out.weight", {12, 5});
    EXPECT_EQ(shape.failure(description, names),
              "tensor 'blk.0.ssm_out.weight' has shape [12][5]; expected [5][12] by the sizes in the metadata");

    Checkpoint not_finite = checkpoint;
    not_finite.add("blk.1.attn_norm.weight", {5}, {0, 1, NAN, 3, 4});
    EXPECT_EQ(not_finite.failure(description, names),
              "tensor 'blk.1.attn_norm.weight' holds values that are not finite numbers");

    Checkpoint bias = checkpoint;
    bias.add("blk.1.attn_q.bias", {48});
    EXPECT_NE(bias.failure(description, names).find("'blk.1.attn_q.bias' would change the result"), std::string::npos);
    Checkpoint scale = checkpoint;
    scale.add("blk.1.attn_norm.scale", {1});
    EXPECT_NE(scale.failure(description, names).find("'blk.1.attn_norm.scale' would change the result"),
              std::string::npos);

    const std::vector<float> zeros(64);
    Checkpoint undecodable = checkpoint;
    undecodable.put({"blk.1.attn_q.weight", "Q4_K", nullptr, {48, 5}, std::as_bytes(std::span(zeros))});
    EXPECT_EQ(undecodable.failure(description, names),
              "tensor 'blk.1.attn_q.weight' has type Q4_K, which is not supported yet");
    Checkpoint blocks = checkpoint;
    blocks.put({"blk.1.attn_norm.weight", "Q8_0", find_weight_type(8), {5}, std::as_bytes(std::span(zeros))});
    EXPECT_EQ(blocks.failure(description, names),
              "tensor 'blk.1.attn_norm.weight' has type Q8_0; expected F32, F16 or BF16");
    Checkpoint ragged = checkpoint;
    ragged.put({"blk.1.attn_q.weight", "Q8_0", find_weight_type(8), {48, 5}, std::as_bytes(std::span(zeros))});
    EXPECT_NE(ragged.failure(description, names).find("'blk.1.attn_q.weight' has rows of 5 values"), std::string::npos);

    const std::vector<float> values(48 * 5 + 1);
    Checkpoint misaligned = checkpoint;
    misaligned.put({"blk.1.attn_q.weight",
                    "F32",
                    find_weight_type(0),
                    {48, 5},
                    std::as_bytes(std::span(values)).subspan(2, 48 * 5 * 4)});
    EXPECT_NE(misaligned.failure(description, names).find("'blk.1.attn_q.weight' does not start at a multiple of 4"),
              std::string::npos);
}

TEST(HybridWeights, ScalesBesideMatricesAreTheirs) {
    const TensorNames& names = gguf_tensor_names();
    const HybridDescription description = small_description(0);
    Checkpoint checkpoint = dense_checkpoint(names);
    for (const std::string name : {"q", "k", "v"}) checkpoint.erase("blk.1.attn_" + name + ".weight");
    checkpoint.add("blk.1.attn_qkv.weight", {72, 5});
    checkpoint.add("blk.1.attn_qkv.scale", {1}, {0.25f});
    checkpoint.add("blk.0.ssm_out.scale", {1}, {3.0f});
    checkpoint.add("blk.0.ssm_out.input_scale", {1}, {5.0f});
    const auto file = checkpoint.read(description, names);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(file->weights.layers[0].delta_net->out.scale, 3.0f);
    EXPECT_EQ(file->weights.layers[0].delta_net->qkvz.parts[0].scale, 1.0f);
    const AttentionWeights& attention = *file->weights.layers[1].attention;
    EXPECT_EQ(attention.q_gate.scale, 0.25f);
    EXPECT_EQ(attention.v.scale, 0.25f);
    ASSERT_EQ(file->notes.size(), 1u);
    EXPECT_NE(file->notes[0].find("'blk.0.ssm_out.input_scale'): they scale activations"), std::string::npos)
        << file->notes[0];

    Checkpoint not_finite = checkpoint;
    not_finite.add("blk.0.ssm_out.scale", {1}, {INFINITY});
    EXPECT_EQ(not_finite.failure(description, names),
              "tensor 'blk.0.ssm_out.scale' holds values that are not finite numbers");
    Checkpoint many = checkpoint;
    many.add("blk.0.ssm_out.scale", {2});
    EXPECT_NE(many.failure(description, names).find("'blk.0.ssm_out.scale' has shape [2]"), std::string::npos);
}

// One projection in NVFP4 as modelopt (and, below, compressed-tensors) stores it; 16 columns for the head.
TEST(HybridWeights, Nvfp4OfSafetensorsIsReadInPlace) {
    const TensorNames& names = hf_text_tensor_names();
    HybridDescription description = small_description(0);
    description.config.shared_ff = 16;
    Checkpoint checkpoint = dense_checkpoint(names);
    const std::string mlp = "model.layers.0.mlp.";
    for (const std::string layer : {"0", "1"}) {
        for (const std::string part : {"gate", "up"}) {
            checkpoint.add("model.layers." + layer + ".mlp." + part + "_proj.weight", {16, 5});
        }
        checkpoint.add("model.layers." + layer + ".mlp.down_proj.weight", {5, 16});
    }
    const std::vector<std::byte> codes(5 * 8, std::byte{0x21});
    const std::vector<std::byte> scales(5, std::byte{0x40});  // 2
    const StoredTensor code_tensor{mlp + "down_proj.weight", "U8", nullptr, {5, 8}, codes};
    const WeightTypeSpec* fp8 = &weight_type_spec(WeightType::f8_e4m3);
    const StoredTensor scale_tensor{mlp + "down_proj.weight_scale", "F8_E4M3", fp8, {5, 1}, scales};
    checkpoint.put(code_tensor);
    checkpoint.put(scale_tensor);
    checkpoint.add(mlp + "down_proj.weight_scale_2", {}, {0.5f});
    const auto file = checkpoint.read(description, names);
    ASSERT_TRUE(file) << file.error().message;
    const Matrix& down = file->weights.layers[0].ffn.shared->down;
    EXPECT_EQ(down.type, WeightType::nvfp4_apart);
    EXPECT_EQ(down.data, codes.data());
    EXPECT_EQ(down.block_scales, scales.data());
    EXPECT_EQ(down.scale, 0.5f);
    std::vector<float> values(16);
    down.decode_rows(4, 1, values.data());
    EXPECT_EQ(values[0], 1.0f);
    EXPECT_EQ(values[1], 2.0f);

    const auto failure = [&](auto&& change) {
        Checkpoint changed = checkpoint;
        change(changed);
        return changed.failure(description, names);
    };
    EXPECT_EQ(failure([&](Checkpoint& c) { c.erase(scale_tensor.name); }),
              "tensor 'model.layers.0.mlp.down_proj.weight_scale' is missing; the file is incomplete");
    EXPECT_EQ(failure([&](Checkpoint& c) { c.erase(mlp + "down_proj.weight_scale_2"); }),
              "tensor 'model.layers.0.mlp.down_proj.weight_scale_2' is missing; the file is incomplete");
    EXPECT_EQ(
        failure([&](Checkpoint& c) {
            c.add(scale_tensor.name, {5, 1});
        }),
        "tensor 'model.layers.0.mlp.down_proj.weight_scale' has type F32; expected F8_E4M3, one scale for 16 values");
    EXPECT_NE(failure([&](Checkpoint& c) {
                  c.put({code_tensor.name, "U8", nullptr, {5, 16}, codes});
              }).find("has shape"),
              std::string::npos);
    EXPECT_NE(failure([&](Checkpoint& c) {
                  c.put({code_tensor.name, "U8", nullptr, {5, 8}, std::span(codes).first(39)});
              }).find("two 4-bit codes a byte"),
              std::string::npos);

    const auto packed = [&](float global) {
        Checkpoint other = checkpoint;
        other.erase(code_tensor.name);
        other.erase(mlp + "down_proj.weight_scale_2");
        other.put({mlp + "down_proj.weight_packed", "U8", nullptr, {5, 8}, codes});
        other.add(mlp + "down_proj.weight_global_scale", {1}, {global});
        return other;
    };
    const auto other = packed(8).read(description, names);
    ASSERT_TRUE(other) << other.error().message;
    EXPECT_EQ(other->weights.layers[0].ffn.shared->down.scale, 0.125f);
    EXPECT_EQ(packed(0).failure(description, names),
              "tensor 'model.layers.0.mlp.down_proj.weight_global_scale' is zero, and would be divided by");
}

// As published FP8 checkpoints store projections; one scale for 128 x 128 weights.
TEST(HybridWeights, Fp8InBlocksTakesItsScales) {
    const TensorNames& names = hf_text_tensor_names();
    HybridDescription description = small_description(0);
    constexpr int64_t kWidth = 256;
    description.config.shared_ff = kWidth;
    Checkpoint checkpoint = dense_checkpoint(names);
    for (const std::string layer : {"0", "1"}) {
        for (const std::string part : {"gate", "up"})
            checkpoint.add("model.layers." + layer + ".mlp." + part + "_proj.weight", {kWidth, 5});
        checkpoint.add("model.layers." + layer + ".mlp.down_proj.weight", {5, kWidth});
    }
    const std::string name = "model.layers.0.mlp.down_proj.weight";
    const std::vector<std::byte> codes(5 * kWidth, std::byte{0x40});  // 2
    const WeightTypeSpec* fp8 = &weight_type_spec(WeightType::f8_e4m3);
    checkpoint.put({name, "F8_E4M3", fp8, {5, kWidth}, codes});
    checkpoint.add(name + "_scale_inv", {1, 2}, {0.5f, 3});
    const auto file = checkpoint.read(description, names);
    ASSERT_TRUE(file) << file.error().message;
    const Matrix& down = file->weights.layers[0].ffn.shared->down;
    EXPECT_EQ(down.type, WeightType::f8_e4m3_blocks);
    EXPECT_EQ(down.data, codes.data());
    std::vector<float> values(kWidth);
    down.decode_rows(4, 1, values.data());
    EXPECT_EQ(values[127], 1);
    EXPECT_EQ(values[128], 6);

    Checkpoint other_shape = checkpoint;
    other_shape.add(name + "_scale_inv", {5, 2});
    EXPECT_NE(other_shape.failure(description, names).find("'" + name + "_scale_inv' has shape [5][2]"),
              std::string::npos);
    Checkpoint odd = checkpoint;
    description.config.shared_ff = 200;
    for (const std::string layer : {"0", "1"}) {
        for (const std::string part : {"gate", "up"})
            odd.add("model.layers." + layer + ".mlp." + part + "_proj.weight", {200, 5});
        odd.add("model.layers." + layer + ".mlp.down_proj.weight", {5, 200});
    }
    odd.put({name, "F8_E4M3", fp8, {5, 200}, std::span(codes).first(1000)});
    EXPECT_NE(odd.failure(description, names).find("not a multiple of the 128"), std::string::npos);
}

TEST(HybridWeights, SaysWhatIsSkipped) {
    const TensorNames& names = gguf_tensor_names();
    Checkpoint checkpoint = dense_checkpoint(names);
    checkpoint.add("blk.2.attn_norm.weight", {5});
    checkpoint.add("v.patch_embd.weight", {5});
    for (const std::string name : {"w", "x", "y", "z"}) checkpoint.add(name, {5});
    HybridDescription description = small_description(0);
    description.draft_layers = 1;
    const auto file = checkpoint.read(description, names);
    ASSERT_TRUE(file) << file.error().message;
    ASSERT_EQ(file->notes.size(), 4u);
    EXPECT_NE(file->notes[0].find("draft (MTP)"), std::string::npos);
    EXPECT_TRUE(file->drafts.empty());
    EXPECT_EQ(file->draft_bytes, 0);
    EXPECT_NE(file->notes[3].find("draft (MTP) block is broken and left out; nothing else needs it: tensor 'blk.2."),
              std::string::npos)
        << file->notes[3];
    EXPECT_NE(file->notes[1].find("images"), std::string::npos);
    EXPECT_EQ(file->notes[2],
              "4 tensors are not used, 0.0 MB ('w', 'x', 'y', ...): this architecture does not have them.");
    description.draft_layers = 0;
    EXPECT_NE(checkpoint.read(description, names)->notes.back().find("5 tensors are not used"), std::string::npos);
}

TEST(HybridWeights, AMissingLayerIsNamedByItsCount) {
    const TensorNames& names = gguf_tensor_names();
    HybridDescription description = small_description(0);
    description.config.layers = 3;
    description.config.layer_kinds.push_back(LayerKind::gated_delta_net);
    EXPECT_EQ(dense_checkpoint(names).failure(description, names),
              "there are no tensors for layer 2, though 'layers' announces 3 layers");
}

}  // namespace
}  // namespace octavo
