#include "models/random/model_shape.h"

#include <algorithm>

namespace octavo {
namespace {

constexpr int kInterval = 4;  // every fourth layer is full attention
constexpr int kKvHeads = 2;
constexpr int kConvKernel = 4;
constexpr float kRmsEps = 1e-6f;

constexpr ModelShape kShapes[] = {
    {.name = "35b-a3b",
     .architecture = "qwen35moe",
     .split_rule = "qwen35",
     .first_added_token = 248044,
     .theta = 1e7,
     .layers = 40,
     .vocab = 248320,
     .context_length = 262144,
     .hidden = 2048,
     .heads = 16,
     .head_dim = 256,
     .rope_dims = 64,
     .gdn_key_heads = 16,
     .gdn_value_heads = 32,
     .gdn_dim = 128,
     .experts = 256,
     .experts_used = 8,
     .expert_ff = 512},
    {.name = "80b-a3b",
     .architecture = "qwen3next",
     .split_rule = "qwen2",
     .first_added_token = 151643,
     .theta = 1e7,
     .layers = 48,
     .vocab = 151936,
     .context_length = 262144,
     .hidden = 2048,
     .heads = 16,
     .head_dim = 256,
     .rope_dims = 64,
     .gdn_key_heads = 16,
     .gdn_value_heads = 32,
     .gdn_dim = 128,
     .experts = 512,
     .experts_used = 10,
     .expert_ff = 512},
    {.name = "tiny",
     .architecture = "qwen35moe",
     .split_rule = "qwen35",
     .first_added_token = 480,
     .theta = 1e4,
     .layers = 8,
     .vocab = 512,
     .context_length = 65536,
     .hidden = 256,
     .heads = 4,
     .head_dim = 64,
     .rope_dims = 16,
     .gdn_key_heads = 4,
     .gdn_value_heads = 8,
     .gdn_dim = 32,
     .experts = 8,
     .experts_used = 2,
     .expert_ff = 256},
};

}  // namespace

std::span<const ModelShape> model_shapes() { return kShapes; }

const ModelShape* find_model_shape(std::string_view name) {
    const auto* found = std::find_if(std::begin(kShapes), std::end(kShapes),
                                     [&](const ModelShape& shape) { return shape.name == name; });
    return found == std::end(kShapes) ? nullptr : found;
}

std::string model_shape_names() {
    std::string names;
    for (const ModelShape& shape : kShapes) names += (names.empty() ? "" : ", ") + std::string(shape.name);
    return names;
}

int first_added_token(const ModelShape& shape, const ShapeChanges& changes) {
    constexpr int kRoomForAdded = 32;
    return changes.vocab > 0 ? changes.vocab - kRoomForAdded : shape.first_added_token;
}

HybridDescription describe_shape(const ModelShape& shape, const ShapeChanges& changes) {
    HybridDescription description;
    description.draft_layers = changes.draft ? 1 : 0;
    HybridConfig& config = description.config;
    config.architecture = shape.architecture;
    config.layers = changes.layers > 0 ? changes.layers : shape.layers;
    for (int layer = 0; layer < config.layers; ++layer) {
        const bool attention = (layer + 1) % kInterval == 0;
        config.layer_kinds.push_back(attention ? LayerKind::full_attention : LayerKind::gated_delta_net);
    }
    config.hidden = shape.hidden;
    config.vocab = changes.vocab > 0 ? changes.vocab : shape.vocab;
    config.context_length = shape.context_length;
    config.rms_eps = kRmsEps;
    config.heads = shape.heads;
    config.kv_heads = kKvHeads;
    config.head_dim = shape.head_dim;
    config.rope_dims = shape.rope_dims;
    config.gdn_key_heads = shape.gdn_key_heads;
    config.gdn_value_heads = shape.gdn_value_heads;
    config.gdn_key_dim = shape.gdn_dim;
    config.gdn_value_dim = shape.gdn_dim;
    config.conv_kernel = kConvKernel;
    config.experts = changes.experts > 0 ? changes.experts : shape.experts;
    config.experts_used = std::min(shape.experts_used, config.experts);
    config.expert_ff = shape.expert_ff;
    config.shared_ff = shape.expert_ff;
    return description;
}

}  // namespace octavo
