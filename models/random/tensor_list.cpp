#include "models/random/tensor_list.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "models/hybrid/tensor_names.h"

namespace octavo {
namespace {

class List {
  public:
    explicit List(const HybridDescription& description)
        : config_(description.config), draft_layers_(description.draft_layers) {}

    std::vector<ListedTensor> all() {
        add(names_.embedding, {config_.vocab, config_.hidden}, ValueKind::embedding, TensorRole::embedding);
        add(names_.head, {config_.vocab, config_.hidden}, ValueKind::product, TensorRole::head);
        norm(names_.final_norm, config_.hidden);
        for (layer_ = 0; layer_ < config_.layers; ++layer_) {
            add_layer(config_.layer_kinds[static_cast<size_t>(layer_)]);
        }
        for (; layer_ < config_.layers + draft_layers_; ++layer_) add_draft_layer();
        return std::move(tensors_);
    }

  private:
    void add(std::string_view name, std::vector<int64_t> shape, ValueKind values, TensorRole role) {
        const std::string prefix = layer_ < 0 ? "" : fmt::format(fmt::runtime(names_.layer_prefix), layer_);
        tensors_.push_back({prefix + std::string(name), std::move(shape), values, role, layer_});
    }
    void matrix(std::string_view name, std::vector<int64_t> shape, TensorRole role = TensorRole::matrix) {
        add(name, std::move(shape), ValueKind::product, role);
    }
    void small(std::string_view name, std::vector<int64_t> shape, ValueKind values) {
        add(name, std::move(shape), values, TensorRole::small);
    }
    void norm(std::string_view name, int64_t width) { small(name, {width}, ValueKind::norm); }

    void add_layer(LayerKind kind) {
        norm(layer_names_.mixer_norm, config_.hidden);
        if (kind == LayerKind::full_attention) {
            add_attention();
        } else {
            add_delta_net();
        }
        norm(layer_names_.ffn_norm, config_.hidden);
        add_experts();
    }

    void add_attention() {
        const int64_t hidden = config_.hidden;
        const int64_t q_width = int64_t{config_.heads} * config_.head_dim;
        const int64_t kv_width = int64_t{config_.kv_heads} * config_.head_dim;
        matrix(layer_names_.q, {2 * q_width, hidden});
        matrix(layer_names_.k, {kv_width, hidden});
        matrix(layer_names_.v, {kv_width, hidden}, TensorRole::attention_v);
        matrix(layer_names_.attention_out, {hidden, q_width});
        norm(layer_names_.q_norm, config_.head_dim);
        norm(layer_names_.k_norm, config_.head_dim);
    }

    void add_delta_net() {
        const int64_t hidden = config_.hidden;
        const int64_t heads = config_.gdn_value_heads;
        const int64_t values = heads * config_.gdn_value_dim;
        matrix(layer_names_.gdn_qkv, {config_.conv_channels(), hidden}, TensorRole::delta_net_qkv);
        matrix(layer_names_.gdn_z, {values, hidden});
        small(layer_names_.gdn_b, {heads, hidden}, ValueKind::product);
        small(layer_names_.gdn_a, {heads, hidden}, ValueKind::product);
        small(layer_names_.conv, {config_.conv_channels(), config_.conv_kernel}, ValueKind::product);
        small(layer_names_.a_scale, {heads}, ValueKind::decay);
        small(layer_names_.dt_bias, {heads}, ValueKind::decay_bias);
        norm(layer_names_.gdn_norm, config_.gdn_value_dim);
        matrix(layer_names_.gdn_out, {hidden, values});
    }

    void add_experts() {
        const int64_t hidden = config_.hidden;
        const int64_t count = config_.experts;
        const int64_t width = config_.expert_ff;
        small(layer_names_.router, {count, hidden}, ValueKind::product);
        matrix(layer_names_.expert_gates, {count, width, hidden});
        matrix(layer_names_.expert_ups, {count, width, hidden});
        matrix(layer_names_.expert_downs, {count, hidden, width}, TensorRole::expert_down);
        small(layer_names_.shared_switch, {hidden}, ValueKind::product);
        matrix(layer_names_.shared_gate, {config_.shared_ff, hidden});
        matrix(layer_names_.shared_up, {config_.shared_ff, hidden});
        matrix(layer_names_.shared_down, {hidden, config_.shared_ff}, TensorRole::expert_down);
    }

    void add_draft_layer() {
        add_layer(LayerKind::full_attention);
        matrix("nextn.eh_proj.weight", {config_.hidden, int64_t{2} * config_.hidden});
        norm("nextn.enorm.weight", config_.hidden);
        norm("nextn.hnorm.weight", config_.hidden);
        norm("nextn.shared_head_norm.weight", config_.hidden);
    }

    const HybridConfig& config_;
    int draft_layers_;
    const TensorNames& names_ = gguf_tensor_names();
    const LayerTensorNames& layer_names_ = names_.layer;
    int layer_ = -1;
    std::vector<ListedTensor> tensors_;
};

}  // namespace

std::vector<ListedTensor> list_tensors(const HybridDescription& description) { return List(description).all(); }

}  // namespace octavo
