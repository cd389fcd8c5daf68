#include "tests/support/random_model.h"

#include <array>
#include <cmath>
#include <random>
#include <string_view>
#include <vector>

namespace octavo::test {
namespace {

constexpr std::array<std::string_view, 5> special_names = {"<|im_start|>", "<|im_end|>", "<|endoftext|>", "<think>",
                                                           "</think>"};

// Owns every float of the model.
class Weights {
  public:
    explicit Weights(uint64_t seed) : random_(seed) {}

    float* uniform(int64_t count, float low, float high) {
        auto values = std::make_shared<std::vector<float>>(count);
        std::uniform_real_distribution<float> between(low, high);
        for (float& value : *values) value = between(random_);
        owners_.push_back(values);
        return values->data();
    }
    Matrix matrix(int64_t rows, int64_t cols) {
        const float bound = std::sqrt(3.0f / static_cast<float>(cols));
        return {WeightType::f32, reinterpret_cast<const std::byte*>(uniform(rows * cols, -bound, bound)), rows, cols};
    }
    FfnMatrices ffn(int64_t hidden, int64_t width) {
        return {matrix(width, hidden), matrix(width, hidden), matrix(hidden, width)};
    }
    std::vector<std::shared_ptr<const void>> owners() { return std::move(owners_); }

  private:
    std::mt19937_64 random_;
    std::vector<std::shared_ptr<const void>> owners_;
};

HybridConfig small_config(int context_length, int expert_ff) {
    HybridConfig config;
    config.architecture = "qwen35moe";
    config.layers = 8;
    for (int i = 0; i < config.layers; ++i) {
        config.layer_kinds.push_back(i % 4 == 3 ? LayerKind::full_attention : LayerKind::gated_delta_net);
    }
    config.hidden = 64;
    config.vocab = ByteTokenizer().vocab_size();
    config.context_length = context_length;
    config.rms_eps = 1e-6f;
    config.heads = 4;
    config.kv_heads = 2;
    config.head_dim = 32;
    config.rope_dims = 8;
    for (int i = 0; i < config.rope_dims / 2; ++i) {
        config.rope_frequencies.push_back(std::pow(10000.0, -2.0 * i / config.rope_dims));
    }
    config.gdn_key_heads = 2;
    config.gdn_value_heads = 4;
    config.gdn_key_dim = 32;
    config.gdn_value_dim = 32;
    config.conv_kernel = 4;
    config.key_head_of_value_head = {0, 0, 1, 1};
    config.experts = 4;
    config.experts_used = 2;
    config.expert_ff = expert_ff;
    config.shared_ff = 32;
    return config;
}

AttentionWeights attention(Weights& weights, const HybridConfig& c) {
    AttentionWeights attention;
    attention.q_gate = weights.matrix(c.heads * 2 * c.head_dim, c.hidden);
    attention.k = weights.matrix(c.kv_heads * c.head_dim, c.hidden);
    attention.v = weights.matrix(c.kv_heads * c.head_dim, c.hidden);
    attention.out = weights.matrix(c.hidden, c.heads * c.head_dim);
    attention.q_norm = weights.uniform(c.heads * c.head_dim, 0.5f, 1.5f);
    attention.k_norm = weights.uniform(c.kv_heads * c.head_dim, 0.5f, 1.5f);
    return attention;
}

DeltaNetWeights delta_net(Weights& weights, const HybridConfig& c) {
    const int64_t values = static_cast<int64_t>(c.gdn_value_heads) * c.gdn_value_dim;
    DeltaNetWeights delta_net;
    delta_net.qkvz.parts = {weights.matrix(c.conv_channels(), c.hidden), weights.matrix(values, c.hidden)};
    delta_net.ba.parts = {weights.matrix(2 * static_cast<int64_t>(c.gdn_value_heads), c.hidden)};
    delta_net.out = weights.matrix(c.hidden, values);
    delta_net.conv = weights.uniform(static_cast<int64_t>(c.conv_channels()) * c.conv_kernel, -0.5f, 0.5f);
    delta_net.a_scale = weights.uniform(c.gdn_value_heads, -1.0f, -0.05f);
    delta_net.dt_bias = weights.uniform(c.gdn_value_heads, -1.0f, 1.0f);
    delta_net.norm = weights.uniform(c.gdn_value_dim, 0.5f, 1.5f);
    return delta_net;
}

FeedForwardWeights feed_forward(Weights& weights, const HybridConfig& c) {
    FeedForwardWeights ffn;
    ffn.router = weights.matrix(c.experts, c.hidden);
    for (int i = 0; i < c.experts; ++i) ffn.experts.push_back(weights.ffn(c.hidden, c.expert_ff));
    ffn.shared = weights.ffn(c.hidden, c.shared_ff);
    ffn.shared_gate = weights.matrix(1, c.hidden);
    return ffn;
}

}  // namespace

std::shared_ptr<const Model> random_model(uint64_t seed, int context_length, int expert_ff) {
    auto model = std::make_shared<Model>();
    model->name = "random";
    model->source = "test";
    model->config = small_config(context_length, expert_ff);
    const HybridConfig& c = model->config;
    Weights weights(seed);
    model->weights.embedding = weights.matrix(c.vocab, c.hidden);
    model->weights.head = weights.matrix(c.vocab, c.hidden);
    model->weights.final_norm = weights.uniform(c.hidden, 0.5f, 1.5f);
    for (const LayerKind kind : c.layer_kinds) {
        LayerWeights layer;
        layer.mixer_norm = weights.uniform(c.hidden, 0.5f, 1.5f);
        layer.ffn_norm = weights.uniform(c.hidden, 0.5f, 1.5f);
        if (kind == LayerKind::full_attention) {
            layer.attention = attention(weights, c);
        } else {
            layer.delta_net = delta_net(weights, c);
        }
        layer.ffn = feed_forward(weights, c);
        model->weights.layers.push_back(std::move(layer));
    }
    model->owners = weights.owners();
    const auto key_heads = std::make_shared<std::vector<int32_t>>(c.key_head_of_value_head);
    for (LayerWeights& layer : model->weights.layers) {
        if (layer.delta_net) layer.delta_net->key_head_of_value_head = key_heads->data();
    }
    model->owners.push_back(key_heads);
    model->tokenizer = std::make_shared<ByteTokenizer>();
    model->chat = ChatTemplate::detect("");
    return model;
}

Result<std::vector<int32_t>> ByteTokenizer::encode(const std::vector<PromptPart>& parts) const {
    std::vector<int32_t> ids;
    for (const PromptPart& part : parts) {
        if (!part.ids.empty()) {
            ids.insert(ids.end(), part.ids.begin(), part.ids.end());
            continue;
        }
        for (size_t i = 0; i < part.text.size();) {
            size_t taken = 1;
            int32_t id = static_cast<unsigned char>(part.text[i]);
            for (size_t name = 0; part.markup && name < special_names.size(); ++name) {
                if (std::string_view(part.text).substr(i).starts_with(special_names[name])) {
                    id = turn_start + static_cast<int32_t>(name);
                    taken = special_names[name].size();
                }
            }
            ids.push_back(id);
            i += taken;
        }
    }
    return ids;
}

std::string ByteTokenizer::token_bytes(int32_t id) const {
    return id >= 0 && id < 256 ? std::string(1, static_cast<char>(id)) : std::string();
}

std::string ByteTokenizer::special_name(int32_t id) const {
    const int64_t index = int64_t{id} - turn_start;
    return index >= 0 && index < std::ssize(special_names) ? std::string(special_names[index]) : std::string();
}

int32_t ByteTokenizer::special_id(std::string_view name) const {
    for (size_t i = 0; i < special_names.size(); ++i) {
        if (special_names[i] == name) return turn_start + static_cast<int32_t>(i);
    }
    return -1;
}

}  // namespace octavo::test
