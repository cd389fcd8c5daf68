#include "models/hybrid/config_writer.h"

#include <fmt/format.h>

#include <array>
#include <string>

#include "models/hybrid/config_fields.h"

namespace octavo {
namespace {

// Rotary pairs by text, height, width and nothing, as qwen35 files must tell; text tokens do not care.
constexpr std::array<int32_t, 4> kRopeSections = {11, 11, 10, 0};

// Layers from one full-attention layer to the next, where they come at equal distances from the start.
int full_attention_interval(const HybridConfig& config) {
    for (size_t layer = 0; layer < config.layer_kinds.size(); ++layer) {
        if (config.layer_kinds[layer] == LayerKind::full_attention) return static_cast<int>(layer) + 1;
    }
    return config.layers + 1;
}

}  // namespace

void write_hybrid_config(const HybridDescription& description, double theta, GgufHeaderWriter& header) {
    const HybridConfig& config = description.config;
    const auto key = [&](std::string_view name) { return fmt::format("{}.{}", config.architecture, name); };
    const auto number = [&](std::string_view name, int value) { header.u32(key(name), static_cast<uint32_t>(value)); };
    header.text("general.architecture", config.architecture);
    number("block_count", config.layers + description.draft_layers);
    if (description.draft_layers > 0) number("nextn_predict_layers", description.draft_layers);
    number("full_attention_interval", full_attention_interval(config));
    for (const SizeField& field : common_sizes()) number(field.gguf, config.*field.member);
    for (const SizeField& field : config.experts > 0 ? expert_sizes() : dense_sizes()) {
        number(field.gguf, config.*field.member);
    }
    number("attention.value_length", config.head_dim);
    number("ssm.inner_size", config.gdn_value_heads * config.gdn_value_dim);
    number("rope.dimension_count", config.rope_dims);
    header.f32(key("rope.freq_base"), static_cast<float>(theta));
    const Architecture* architecture = find_architecture(config.architecture);
    if (architecture != nullptr && architecture->gguf_tiles_heads)
        header.i32s(key("rope.dimension_sections"), kRopeSections);
    header.f32(key("attention.layer_norm_rms_epsilon"), config.rms_eps);
}

}  // namespace octavo
