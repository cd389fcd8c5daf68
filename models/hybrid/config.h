// The hybrid architecture as data: sizes and layer kinds of qwen3next, qwen35moe and dense qwen35. Every number comes
// from the file; both readers (GGUF metadata, Hugging Face config.json) fill this one description.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace octavo {

enum class LayerKind : uint8_t { gated_delta_net, full_attention };

struct HybridConfig {
    std::string architecture;            // GGUF name: "qwen3next", "qwen35moe", "qwen35"
    int layers = 0;                      // trunk layers, without draft (MTP) blocks
    std::vector<LayerKind> layer_kinds;  // [layers]
    int hidden = 0;
    int vocab = 0;
    int context_length = 0;  // tokens
    float rms_eps = 0;

    // Full attention
    int heads = 0;
    int kv_heads = 0;
    int head_dim = 0;
    int rope_dims = 0;
    std::vector<double> rope_frequencies;  // [rope_dims / 2], radians per position (YaRN already applied)
    float rope_scale = 1;                  // factor on cos and sin (YaRN), else 1

    // Gated DeltaNet
    int gdn_key_heads = 0;
    int gdn_value_heads = 0;
    int gdn_key_dim = 0;
    int gdn_value_dim = 0;
    int conv_kernel = 0;
    std::vector<int32_t> key_head_of_value_head;  // [gdn_value_heads]; files differ (grouped or tiled)

    // Feed-forward
    int experts = 0;  // 0: dense
    int experts_used = 0;
    int expert_ff = 0;
    int shared_ff = 0;  // shared expert, or the dense block; 0: none

    int attention_layers() const;
    int gdn_layers() const;
    // Channels of the convolution: q, k and v side by side.
    int conv_channels() const { return 2 * gdn_key_heads * gdn_key_dim + gdn_value_heads * gdn_value_dim; }
    int gdn_state_floats() const { return gdn_value_heads * gdn_key_dim * gdn_value_dim; }
    int conv_state_floats() const { return (conv_kernel - 1) * conv_channels(); }
};

}  // namespace octavo
