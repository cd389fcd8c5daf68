#include "models/hybrid/weights_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/placed_ffn.h"
#include "models/hybrid/skipped_tensors.h"
#include "models/hybrid/tensor_reader.h"
#include "models/tensors/quote_name.h"

namespace octavo {
namespace {

float plus_one(float value) { return value + 1.0f; }
float minus_exp(float value) { return -std::exp(value); }

// Where the wanted columns lie in a projection whose rows are grouped by key head. A group holds, in this order, one
// block of each width for the key head (`key_blocks` of them) and then for all its value heads (`value_blocks`).
// Wanted is one block kind after the other, heads ascending.
std::vector<int32_t> ungroup(const HybridConfig& config, int key_blocks, int value_blocks, int key_width,
                             int value_width) {
    const int group_heads = config.gdn_value_heads / config.gdn_key_heads;
    const int value_run = group_heads * value_width;  // one block kind of all value heads of a group
    const int group_width = key_blocks * key_width + value_blocks * value_run;
    std::vector<int32_t> source;
    source.reserve(static_cast<size_t>(config.gdn_key_heads) * static_cast<size_t>(group_width));
    const auto append = [&](int offset, int width) {
        for (int head = 0; head < config.gdn_key_heads; ++head) {
            for (int i = 0; i < width; ++i) source.push_back(head * group_width + offset + i);
        }
    };
    for (int block = 0; block < key_blocks; ++block) append(block * key_width, key_width);
    for (int block = 0; block < value_blocks; ++block) append(key_blocks * key_width + block * value_run, value_run);
    return source;
}

std::string numbered(std::string_view name, int layer) { return fmt::format(fmt::runtime(name), layer); }

class LayerBuilder {
  public:
    LayerBuilder(const HybridConfig& config, const TensorNames& names, TensorReader& reader, std::string prefix)
        : config_(config),
          names_(names.layer),
          reader_(reader),
          prefix_(std::move(prefix)),
          norm_(names.zero_centred_norms ? plus_one : nullptr),
          a_(names.log_a ? minus_exp : nullptr) {}

    LayerWeights build(LayerKind kind) {
        LayerWeights layer;
        layer.mixer_norm = reader_.floats(full(names_.mixer_norm), {config_.hidden}, norm_);
        layer.ffn_norm = reader_.floats(full(names_.ffn_norm), {config_.hidden}, norm_);
        if (kind == LayerKind::full_attention) {
            layer.attention = attention();
        } else {
            layer.delta_net = delta_net();
        }
        layer.ffn = config_.experts > 0 ? mixture() : dense();
        return layer;
    }

  private:
    std::string full(std::string_view name) const { return prefix_ + std::string(name); }
    bool has(std::string_view name) const { return !name.empty() && reader_.has_matrix(full(name)); }
    Matrix matrix(std::string_view name, int64_t rows, int64_t cols) { return reader_.matrix(full(name), rows, cols); }

    AttentionWeights attention() {
        const int64_t hidden = config_.hidden;
        const int64_t q_rows = int64_t{2} * config_.heads * config_.head_dim;
        const int64_t kv_rows = int64_t{config_.kv_heads} * config_.head_dim;
        AttentionWeights weights;
        if (!has(names_.q) && has(names_.attention_qkv)) {
            const Matrix all = matrix(names_.attention_qkv, q_rows + 2 * kv_rows, hidden);
            if (reader_.error()) return weights;
            weights.q_gate = all.slice_rows(0, q_rows);
            weights.k = all.slice_rows(q_rows, kv_rows);
            weights.v = all.slice_rows(q_rows + kv_rows, kv_rows);
        } else {
            weights.q_gate = matrix(names_.q, q_rows, hidden);
            weights.k = matrix(names_.k, kv_rows, hidden);
            weights.v = matrix(names_.v, kv_rows, hidden);
        }
        weights.out = matrix(names_.attention_out, hidden, q_rows / 2);
        weights.q_norm = reader_.floats(full(names_.q_norm), {config_.head_dim}, norm_, config_.heads);
        weights.k_norm = reader_.floats(full(names_.k_norm), {config_.head_dim}, norm_, config_.kv_heads);
        return weights;
    }

    // Tiled heads cannot come from tensors grouped by key head: no such files exist.
    bool grouped(std::string_view separate, std::string_view by_key_head) const {
        return !has(separate) && has(by_key_head) && heads_ascend();
    }
    bool heads_ascend() const {
        return std::is_sorted(config_.key_head_of_value_head.begin(), config_.key_head_of_value_head.end());
    }

    DeltaNetWeights delta_net() {
        const int64_t hidden = config_.hidden;
        const int64_t value_heads = config_.gdn_value_heads;
        const int64_t values = value_heads * config_.gdn_value_dim;
        const int64_t channels = config_.conv_channels();
        DeltaNetWeights weights;
        if (grouped(names_.gdn_qkv, names_.qkvz_by_key_head)) {
            weights.qkvz.parts = {matrix(names_.qkvz_by_key_head, channels + values, hidden)};
            if (!reader_.error())
                weights.qkvz.source = reader_.keep(ungroup(config_, 2, 2, config_.gdn_key_dim, config_.gdn_value_dim));
        } else {
            weights.qkvz.parts = {matrix(names_.gdn_qkv, channels, hidden), matrix(names_.gdn_z, values, hidden)};
        }
        if (grouped(names_.gdn_b, names_.ba_by_key_head)) {
            weights.ba.parts = {matrix(names_.ba_by_key_head, 2 * value_heads, hidden)};
            if (!reader_.error()) weights.ba.source = reader_.keep(ungroup(config_, 0, 2, 0, 1));
        } else {
            weights.ba.parts = {matrix(names_.gdn_b, value_heads, hidden), matrix(names_.gdn_a, value_heads, hidden)};
        }
        weights.out = matrix(names_.gdn_out, hidden, values);
        weights.conv = reader_.floats(full(names_.conv), {channels, config_.conv_kernel});
        weights.a_scale = reader_.floats(full(names_.a_scale), {value_heads}, a_);
        weights.dt_bias = reader_.floats(full(names_.dt_bias), {value_heads});
        weights.key_head_of_value_head = reader_.keep(config_.key_head_of_value_head).data();
        weights.norm = reader_.floats(full(names_.gdn_norm), {config_.gdn_value_dim});
        return weights;
    }

    FfnMatrices block(std::string_view gate, std::string_view up, std::string_view down, int64_t width) {
        return {matrix(gate, width, config_.hidden), matrix(up, width, config_.hidden),
                matrix(down, config_.hidden, width)};
    }

    FeedForwardWeights dense() {
        FeedForwardWeights weights;
        weights.shared = block(names_.dense_gate, names_.dense_up, names_.dense_down, config_.shared_ff);
        return weights;
    }

    FeedForwardWeights mixture() {
        FeedForwardWeights weights;
        weights.router = matrix(names_.router, config_.experts, config_.hidden);
        weights.shared = block(names_.shared_gate, names_.shared_up, names_.shared_down, config_.shared_ff);
        weights.shared_gate = matrix(names_.shared_switch, 1, config_.hidden);
        if (!reader_.error()) weights.experts = experts();
        weights.expert_scales = scales_of(weights.experts);
        return weights;
    }

    std::vector<FfnMatrices> experts() {
        if (!names_.one_expert_gate.empty() && reader_.has_matrix(expert_name(names_.one_expert_gate, 0)))
            return single_experts();
        const int64_t hidden = config_.hidden;
        const int64_t width = config_.expert_ff;
        const int64_t count = config_.experts;
        // Gate and up rows of one expert follow each other in a fused tensor, gate first.
        const bool fused = has(names_.expert_gate_ups) || names_.expert_gates.empty();
        const auto gates = fused ? reader_.stack(full(names_.expert_gate_ups), count, 2 * width, hidden)
                                 : reader_.stack(full(names_.expert_gates), count, width, hidden);
        const auto ups = fused ? gates : reader_.stack(full(names_.expert_ups), count, width, hidden);
        const auto downs = reader_.stack(full(names_.expert_downs), count, hidden, width);
        std::vector<FfnMatrices> experts;
        if (reader_.error()) return experts;
        for (size_t e = 0; e < static_cast<size_t>(count); ++e) {
            experts.push_back({gates[e].slice_rows(0, width), ups[e].slice_rows(fused ? width : 0, width), downs[e]});
        }
        return experts;
    }

    std::string expert_name(std::string_view name, int expert) const {
        return full(fmt::format(fmt::runtime(name), expert));
    }

    std::vector<FfnMatrices> single_experts() {
        const int64_t hidden = config_.hidden;
        const int64_t width = config_.expert_ff;
        std::vector<FfnMatrices> experts;
        for (int e = 0; e < config_.experts && !reader_.error(); ++e) {
            experts.push_back({reader_.matrix(expert_name(names_.one_expert_gate, e), width, hidden),
                               reader_.matrix(expert_name(names_.one_expert_up, e), width, hidden),
                               reader_.matrix(expert_name(names_.one_expert_down, e), hidden, width)});
        }
        return experts;
    }

    // [experts][3]; nullptr where all are 1.
    const float* scales_of(const std::vector<FfnMatrices>& experts) {
        const std::vector<float> scales = expert_scales_of(experts);
        const bool all_one = std::all_of(scales.begin(), scales.end(), [](float scale) { return scale == 1; });
        return all_one ? nullptr : reader_.keep(std::span<const float>(scales)).data();
    }

    const HybridConfig& config_;
    const LayerTensorNames& names_;
    TensorReader& reader_;
    std::string prefix_;
    TensorReader::Transform norm_;
    TensorReader::Transform a_;
};

bool any_starts_with(const TensorStore& store, std::string_view prefix) {
    const auto tensors = store.tensors();
    return std::any_of(tensors.begin(), tensors.end(),
                       [&](const StoredTensor& tensor) { return tensor.name.starts_with(prefix); });
}

DraftWeights read_draft(const HybridConfig& config, const TensorNames& names, TensorReader& reader, int number,
                        const HybridWeights& trunk) {
    const DraftTensorNames& draft = names.draft;
    const auto norm = [&](std::string_view name) {
        return reader.floats(numbered(name, number), {config.hidden}, names.zero_centred_norms ? plus_one : nullptr);
    };
    const auto own_or = [&](std::string_view name, const Matrix& of_trunk) {
        const std::string full = name.empty() ? std::string() : numbered(name, number);
        return !full.empty() && reader.has_matrix(full) ? reader.matrix(full, config.vocab, config.hidden) : of_trunk;
    };
    DraftWeights weights;
    weights.join = reader.matrix(numbered(draft.join, number), config.hidden, int64_t{2} * config.hidden);
    weights.embedding_norm = norm(draft.embedding_norm);
    weights.trunk_norm = norm(draft.trunk_norm);
    LayerBuilder builder(config, names, reader, numbered(draft.layer_prefix, number));
    weights.layer = builder.build(LayerKind::full_attention);
    weights.final_norm = norm(draft.final_norm);
    weights.embedding = own_or(draft.embedding, trunk.embedding);
    weights.head = own_or(draft.head, trunk.head);
    return weights;
}

// Metadata of safetensors do not always tell of draft blocks; the tensors do.
int draft_count(const HybridDescription& description, const TensorStore& store, const DraftTensorNames& draft) {
    if (draft.follows_trunk) return description.draft_layers;
    int count = 0;
    while (count < description.config.layers && any_starts_with(store, numbered(draft.layer_prefix, count))) ++count;
    return count;
}

// Through a reader of their own: the trunk's remembers what it took.
void read_drafts(const HybridDescription& description, const TensorStore& store, const TensorNames& names,
                 SmallArena& arena, HybridWeightsFile& file) {
    TensorReader reader(store, arena);
    const int count = draft_count(description, store, names.draft);
    for (int i = 0; i < count && !reader.error(); ++i) {
        const int number = names.draft.follows_trunk ? description.config.layers + i : i;
        if (!any_starts_with(store, numbered(names.draft.layer_prefix, number))) continue;  // announced, but not there
        file.drafts.push_back(read_draft(description.config, names, reader, number, file.weights));
    }
    if (reader.error()) {
        file.drafts.clear();
        file.notes.push_back(fmt::format("The draft (MTP) block is broken and left out; nothing else needs it: {}.",
                                         reader.error()->message));
        return;
    }
    for (size_t i = 0; i < store.tensors().size(); ++i) {
        if (reader.use(i).taken) file.draft_bytes += static_cast<int64_t>(store.tensors()[i].data.size());
    }
}

void count_tensors(const TensorStore& store, const TensorReader& reader, HybridWeightsFile& file) {
    for (size_t i = 0; i < store.tensors().size(); ++i) {
        const TensorReader::Use& use = reader.use(i);
        if (!use.taken) continue;
        const auto bytes = static_cast<int64_t>(store.tensors()[i].data.size());
        file.bytes += bytes;
        file.parameters += use.parameters;
        file.bytes_by_type[use.type] += bytes;
    }
}

}  // namespace

Status check_layers_exist(const HybridConfig& config, const TensorStore& store, const TensorNames& names,
                          std::string_view layers_key) {
    for (int layer = 0; layer < config.layers; ++layer) {
        if (any_starts_with(store, numbered(names.layer_prefix, layer))) continue;
        return Error{ErrorKind::input, fmt::format("there are no tensors for layer {}, though '{}' announces {} layers",
                                                   layer, layers_key, config.layers)};
    }
    return {};
}

Result<HybridWeightsFile> read_hybrid_weights(const HybridDescription& description, const TensorStore& store,
                                              const TensorNames& names, std::string_view layers_key) {
    const HybridConfig& config = description.config;
    const auto arena = std::make_shared<SmallArena>();
    TensorReader reader(store, *arena);
    HybridWeightsFile file;
    HybridWeights& weights = file.weights;
    weights.embedding = reader.matrix(names.embedding, config.vocab, config.hidden);
    weights.head =
        description.tied_embeddings ? weights.embedding : reader.matrix(names.head, config.vocab, config.hidden);
    weights.final_norm =
        reader.floats(names.final_norm, {config.hidden}, names.zero_centred_norms ? plus_one : nullptr);
    if (reader.error()) return *reader.error();
    if (Status status = check_layers_exist(config, store, names, layers_key); !status) return status.error();
    for (int layer = 0; layer < config.layers && !reader.error(); ++layer) {
        LayerBuilder builder(config, names, reader, numbered(names.layer_prefix, layer));
        weights.layers.push_back(builder.build(config.layer_kinds[static_cast<size_t>(layer)]));
    }
    if (reader.error()) return *reader.error();
    Result<std::vector<std::string>> notes = skipped_tensor_notes(description, store, names, reader);
    if (!notes) return notes.error();
    file.notes = std::move(*notes);
    read_drafts(description, store, names, *arena, file);
    file.floats = arena;
    count_tensors(store, reader, file);
    return file;
}

}  // namespace octavo
