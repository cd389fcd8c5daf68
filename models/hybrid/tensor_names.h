// How each file format calls the tensors of the hybrid architecture, and what has to be done to their values.
// A reader looks a role up here; an empty name means the format has no such tensor.
// Source: model_spec section 9. Private to models/.
#pragma once

#include <string_view>

namespace octavo {

// After the layer's prefix.
struct LayerTensorNames {
    std::string_view mixer_norm, ffn_norm;
    // Full attention; `attention_qkv` holds q+gate, k and v in one.
    std::string_view q, k, v, attention_qkv, attention_out, q_norm, k_norm;
    // Gated DeltaNet: q|k|v and z, or `qkvz_by_key_head` grouped by key head; b and a, or `ba_by_key_head`.
    std::string_view gdn_qkv, gdn_z, qkvz_by_key_head, gdn_b, gdn_a, ba_by_key_head, gdn_out;
    std::string_view conv, a_scale, dt_bias, gdn_norm;
    // Experts: stacked, gate and up stacked in one, or one tensor each ("{}" is the expert).
    std::string_view router, expert_gates, expert_ups, expert_downs, expert_gate_ups;
    std::string_view one_expert_gate, one_expert_up, one_expert_down;
    std::string_view shared_gate, shared_up, shared_down, shared_switch;
    std::string_view dense_gate, dense_up, dense_down;
};

// A draft (MTP) block: a full-attention layer and what joins it to the trunk. "{}" is the layer.
struct DraftTensorNames {
    std::string_view layer_prefix;
    bool follows_trunk = false;  // layers are numbered on after the trunk's; else from 0
    std::string_view join, embedding_norm, trunk_norm, final_norm;
    std::string_view embedding, head;  // of its own, where a file has them
};

struct TensorNames {
    std::string_view embedding, head, final_norm;
    std::string_view layer_prefix;  // "{}" is the layer
    LayerTensorNames layer;
    DraftTensorNames draft;
    bool zero_centred_norms = false;  // stored as w - 1, except the Gated DeltaNet output norm
    bool log_a = false;               // A_log is stored, not -exp(A_log)
};

const TensorNames& gguf_tensor_names();
// Text-only checkpoints, and those whose language model is a part ("model.language_model.").
const TensorNames& hf_text_tensor_names();
const TensorNames& hf_multimodal_tensor_names();

}  // namespace octavo
