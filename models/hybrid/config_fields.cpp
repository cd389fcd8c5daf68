#include "models/hybrid/config_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/hybrid/config_reader.h"

namespace octavo {
namespace {

constexpr Architecture kArchitectures[] = {
    {"qwen3next", "qwen3_next", "qwen3_next", false, false},
    {"qwen35moe", "qwen3_5_moe", "qwen3_5_moe_text", false, true},
    {"qwen35", "qwen3_5", "qwen3_5_text", true, true},
};

constexpr int kMostHeads = 1024;
constexpr int kMostWidth = 1 << 16;
constexpr int kMostFeedForward = 1 << 20;
constexpr int kMostExperts = 4096;
constexpr int kMostConvKernel = 16;

using C = HybridConfig;

constexpr SizeField kCommon[] = {
    {&C::context_length, "context_length", "max_position_embeddings", kMostContext},
    {&C::hidden, "embedding_length", "hidden_size", kMostWidth},
    {&C::heads, "attention.head_count", "num_attention_heads", kMostHeads},
    {&C::kv_heads, "attention.head_count_kv", "num_key_value_heads", kMostHeads},
    {&C::head_dim, "attention.key_length", "head_dim", kMostHeadDim},
    {&C::gdn_key_heads, "ssm.group_count", "linear_num_key_heads", kMostHeads},
    {&C::gdn_value_heads, "ssm.time_step_rank", "linear_num_value_heads", kMostHeads},
    {&C::gdn_key_dim, "ssm.state_size", "linear_key_head_dim", kMostHeadDim},
    {&C::conv_kernel, "ssm.conv_kernel", "linear_conv_kernel_dim", kMostConvKernel},
};
constexpr SizeField kExperts[] = {
    {&C::experts, "expert_count", "num_experts", kMostExperts},
    {&C::experts_used, "expert_used_count", "num_experts_per_tok", kMostExperts},
    {&C::expert_ff, "expert_feed_forward_length", "moe_intermediate_size", kMostFeedForward},
    {&C::shared_ff, "expert_shared_feed_forward_length", "shared_expert_intermediate_size", kMostFeedForward},
};
constexpr SizeField kDense[] = {
    {&C::shared_ff, "feed_forward_length", "intermediate_size", kMostFeedForward},
};

std::string key_of(const HybridConfig& config, int HybridConfig::*member, Naming naming) {
    for (const auto fields : {common_sizes(), expert_sizes()}) {
        for (const SizeField& field : fields) {
            if (field.member != member) continue;
            return naming == Naming::gguf ? fmt::format("{}.{}", config.architecture, field.gguf)
                                          : std::string(field.hf);
        }
    }
    return "?";
}

// `parts` must not exceed `whole` and, where `divides`, must divide it.
Status check_parts(const HybridConfig& config, Naming naming, int C::*parts, int C::*whole, bool divides) {
    const int part = config.*parts;
    const int all = config.*whole;
    if (part <= all && (!divides || all % part == 0)) return {};
    return Error{ErrorKind::input,
                 fmt::format("'{}' is {} but '{}' is {}; expected {}", key_of(config, parts, naming), part,
                             key_of(config, whole, naming), all, divides ? "a divisor of it" : "no more than that")};
}

Status check_rope(const HybridConfig& config, const RopeSettings& rope, Naming naming) {
    const std::string_view hf_key = "partial_rotary_factor";
    const std::string key =
        naming == Naming::gguf ? fmt::format("{}.rope.dimension_count", config.architecture) : std::string(hf_key);
    if (rope.dims >= 2 && rope.dims % 2 == 0 && rope.dims <= config.head_dim) return {};
    return Error{ErrorKind::input, fmt::format("'{}' gives {} rotary dimensions; expected an even number from 2 to the "
                                               "head size {}",
                                               key, rope.dims, config.head_dim)};
}

}  // namespace

const Architecture* find_architecture(std::string_view gguf_name) {
    const auto* found = std::find_if(std::begin(kArchitectures), std::end(kArchitectures),
                                     [&](const Architecture& a) { return a.name == gguf_name; });
    return found == std::end(kArchitectures) ? nullptr : found;
}

const Architecture* find_hf_architecture(std::string_view model_type) {
    const auto* found = std::find_if(std::begin(kArchitectures), std::end(kArchitectures), [&](const Architecture& a) {
        return a.hf_type == model_type || a.hf_text_type == model_type;
    });
    return found == std::end(kArchitectures) ? nullptr : found;
}

bool is_hybrid_architecture(std::string_view name) { return find_architecture(name) != nullptr; }

std::span<const SizeField> common_sizes() { return kCommon; }
std::span<const SizeField> expert_sizes() { return kExperts; }
std::span<const SizeField> dense_sizes() { return kDense; }

Error out_of_range(std::string_view key, int64_t value, int64_t least, int64_t most) {
    return {ErrorKind::input, fmt::format("'{}' is {}; expected {} to {}", key, value, least, most)};
}

Status check_real(std::string_view key, double value, double least, double most) {
    if (value >= least && value <= most) return {};  // false for NaN
    return Error{ErrorKind::input, fmt::format("'{}' is {:g}; expected {:g} to {:g}", key, value, least, most)};
}

Status finish_config(HybridConfig& config, const RopeSettings& rope, Naming naming, bool tiled_heads) {
    if (Status s = check_parts(config, naming, &C::kv_heads, &C::heads, true); !s) return s;
    if (Status s = check_parts(config, naming, &C::gdn_key_heads, &C::gdn_value_heads, true); !s) return s;
    if (config.experts > 0) {
        if (Status s = check_parts(config, naming, &C::experts_used, &C::experts, false); !s) return s;
    }
    if (Status s = check_rope(config, rope, naming); !s) return s;

    RopeTable table = make_rope_table(rope);
    config.rope_dims = rope.dims;
    config.rope_frequencies = std::move(table.frequencies);
    config.rope_scale = table.scale;
    if (rope.scaling == RopeScaling::yarn) {
        const double extended = std::min<double>(rope.original_context * rope.factor, kMostContext);
        config.context_length = std::max(config.context_length, static_cast<int>(extended));
    }
    const int group = config.gdn_value_heads / config.gdn_key_heads;
    config.key_head_of_value_head.resize(static_cast<size_t>(config.gdn_value_heads));
    for (int head = 0; head < config.gdn_value_heads; ++head) {
        config.key_head_of_value_head[static_cast<size_t>(head)] =
            tiled_heads ? head % config.gdn_key_heads : head / group;
    }
    return {};
}

}  // namespace octavo
