#include "models/hybrid/tensor_names.h"

namespace octavo {
namespace {

constexpr TensorNames kGguf = {
    .embedding = "token_embd.weight",
    .head = "output.weight",
    .final_norm = "output_norm.weight",
    .layer_prefix = "blk.{}.",
    .layer =
        {
            .mixer_norm = "attn_norm.weight",
            .ffn_norm = "post_attention_norm.weight",
            .q = "attn_q.weight",
            .k = "attn_k.weight",
            .v = "attn_v.weight",
            .attention_qkv = "attn_qkv.weight",
            .attention_out = "attn_output.weight",
            .q_norm = "attn_q_norm.weight",
            .k_norm = "attn_k_norm.weight",
            .gdn_qkv = "attn_qkv.weight",
            .gdn_z = "attn_gate.weight",
            .qkvz_by_key_head = "ssm_in.weight",
            .gdn_b = "ssm_beta.weight",
            .gdn_a = "ssm_alpha.weight",
            .ba_by_key_head = "ssm_ba.weight",
            .gdn_out = "ssm_out.weight",
            .conv = "ssm_conv1d.weight",
            .a_scale = "ssm_a",
            .dt_bias = "ssm_dt.bias",
            .gdn_norm = "ssm_norm.weight",
            .router = "ffn_gate_inp.weight",
            .expert_gates = "ffn_gate_exps.weight",
            .expert_ups = "ffn_up_exps.weight",
            .expert_downs = "ffn_down_exps.weight",
            .expert_gate_ups = "ffn_gate_up_exps.weight",
            .one_expert_gate = "",
            .one_expert_up = "",
            .one_expert_down = "",
            .shared_gate = "ffn_gate_shexp.weight",
            .shared_up = "ffn_up_shexp.weight",
            .shared_down = "ffn_down_shexp.weight",
            .shared_switch = "ffn_gate_inp_shexp.weight",
            .dense_gate = "ffn_gate.weight",
            .dense_up = "ffn_up.weight",
            .dense_down = "ffn_down.weight",
        },
    .draft =
        {
            .layer_prefix = "blk.{}.",
            .follows_trunk = true,
            .join = "blk.{}.nextn.eh_proj.weight",
            .embedding_norm = "blk.{}.nextn.enorm.weight",
            .trunk_norm = "blk.{}.nextn.hnorm.weight",
            .final_norm = "blk.{}.nextn.shared_head_norm.weight",
            .embedding = "blk.{}.nextn.embed_tokens.weight",
            .head = "blk.{}.nextn.shared_head_head.weight",
        },
    .zero_centred_norms = false,
    .log_a = false,
};

constexpr LayerTensorNames kHfLayer = {
    .mixer_norm = "input_layernorm.weight",
    .ffn_norm = "post_attention_layernorm.weight",
    .q = "self_attn.q_proj.weight",
    .k = "self_attn.k_proj.weight",
    .v = "self_attn.v_proj.weight",
    .attention_qkv = "",
    .attention_out = "self_attn.o_proj.weight",
    .q_norm = "self_attn.q_norm.weight",
    .k_norm = "self_attn.k_norm.weight",
    .gdn_qkv = "linear_attn.in_proj_qkv.weight",
    .gdn_z = "linear_attn.in_proj_z.weight",
    .qkvz_by_key_head = "linear_attn.in_proj_qkvz.weight",
    .gdn_b = "linear_attn.in_proj_b.weight",
    .gdn_a = "linear_attn.in_proj_a.weight",
    .ba_by_key_head = "linear_attn.in_proj_ba.weight",
    .gdn_out = "linear_attn.out_proj.weight",
    .conv = "linear_attn.conv1d.weight",
    .a_scale = "linear_attn.A_log",
    .dt_bias = "linear_attn.dt_bias",
    .gdn_norm = "linear_attn.norm.weight",
    .router = "mlp.gate.weight",
    .expert_gates = "",
    .expert_ups = "",
    .expert_downs = "mlp.experts.down_proj",
    .expert_gate_ups = "mlp.experts.gate_up_proj",
    .one_expert_gate = "mlp.experts.{}.gate_proj.weight",
    .one_expert_up = "mlp.experts.{}.up_proj.weight",
    .one_expert_down = "mlp.experts.{}.down_proj.weight",
    .shared_gate = "mlp.shared_expert.gate_proj.weight",
    .shared_up = "mlp.shared_expert.up_proj.weight",
    .shared_down = "mlp.shared_expert.down_proj.weight",
    .shared_switch = "mlp.shared_expert_gate.weight",
    .dense_gate = "mlp.gate_proj.weight",
    .dense_up = "mlp.up_proj.weight",
    .dense_down = "mlp.down_proj.weight",
};

constexpr DraftTensorNames kHfDraft = {
    .layer_prefix = "mtp.layers.{}.",
    .follows_trunk = false,
    .join = "mtp.fc.weight",
    .embedding_norm = "mtp.pre_fc_norm_embedding.weight",
    .trunk_norm = "mtp.pre_fc_norm_hidden.weight",
    .final_norm = "mtp.norm.weight",
    .embedding = "",
    .head = "",
};

constexpr TensorNames kHfText = {
    .embedding = "model.embed_tokens.weight",
    .head = "lm_head.weight",
    .final_norm = "model.norm.weight",
    .layer_prefix = "model.layers.{}.",
    .layer = kHfLayer,
    .draft = kHfDraft,
    .zero_centred_norms = true,
    .log_a = true,
};

constexpr TensorNames kHfMultimodal = {
    .embedding = "model.language_model.embed_tokens.weight",
    .head = "lm_head.weight",
    .final_norm = "model.language_model.norm.weight",
    .layer_prefix = "model.language_model.layers.{}.",
    .layer = kHfLayer,
    .draft = kHfDraft,
    .zero_centred_norms = true,
    .log_a = true,
};

}  // namespace

const TensorNames& gguf_tensor_names() { return kGguf; }
const TensorNames& hf_text_tensor_names() { return kHfText; }
const TensorNames& hf_multimodal_tensor_names() { return kHfMultimodal; }

}  // namespace octavo
