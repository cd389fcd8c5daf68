#include "models/hybrid/placed_weights.h"

#include <algorithm>
#include <span>
#include <unordered_map>

#include "kernels/placed_ffn.h"

namespace octavo {
namespace {

// Calls visit(pointer, bytes) for every array of the weights. Experts come one after the other, each as gate, up and
// down, so that copies of them lie at equal distances.
template <class Visit>
class Arrays {
  public:
    Arrays(const HybridConfig& config, Visit& visit) : config_(config), visit_(visit) {}

    void all(HybridWeights& weights) {
        matrix(weights.embedding);
        matrix(weights.head);
        floats(weights.final_norm, config_.hidden);
        for (LayerWeights& layer : weights.layers) {
            floats(layer.mixer_norm, config_.hidden);
            floats(layer.ffn_norm, config_.hidden);
            if (layer.attention) attention(*layer.attention);
            if (layer.delta_net) delta_net(*layer.delta_net);
            feed_forward(layer.ffn);
        }
    }

  private:
    void matrix(Matrix& w) {
        visit_(w.data, w.bytes());
        visit_(w.block_scales, w.scale_bytes());
    }
    void floats(const float*& values, int64_t count) { visit_(values, count * static_cast<int64_t>(sizeof(float))); }

    void attention(AttentionWeights& w) {
        const int64_t kv_width = int64_t{config_.kv_heads} * config_.head_dim;
        for (Matrix* m : {&w.q_gate, &w.k, &w.v, &w.out}) matrix(*m);
        floats(w.q_norm, int64_t{config_.heads} * config_.head_dim);
        floats(w.k_norm, kv_width);
        floats(w.v_scale, kv_width);
    }

    void projection(OrderedProjection& p) {
        for (Matrix& part : p.parts) matrix(part);
        const int32_t* source = p.source.data();
        visit_(source, static_cast<int64_t>(p.source.size_bytes()));
        p.source = {source, p.source.size()};
    }

    void delta_net(DeltaNetWeights& w) {
        projection(w.qkvz);
        projection(w.ba);
        matrix(w.out);
        floats(w.conv, int64_t{config_.conv_channels()} * config_.conv_kernel);
        floats(w.a_scale, config_.gdn_value_heads);
        floats(w.dt_bias, config_.gdn_value_heads);
        visit_(w.key_head_of_value_head, int64_t{config_.gdn_value_heads} * static_cast<int64_t>(sizeof(int32_t)));
        floats(w.norm, config_.gdn_value_dim);
    }

    void block(FfnMatrices& ffn) {
        for (Matrix* m : {&ffn.gate, &ffn.up, &ffn.down}) matrix(*m);
    }

    void feed_forward(FeedForwardWeights& w) {
        matrix(w.router);
        matrix(w.shared_gate);
        for (FfnMatrices& expert : w.experts) block(expert);
        floats(w.expert_scales, 3 * std::ssize(w.experts));
        if (w.shared) block(*w.shared);
    }

    const HybridConfig& config_;
    Visit& visit_;
};

template <class Visit>
void visit_arrays(const HybridConfig& config, HybridWeights& weights, Visit visit) {
    Arrays<Visit>(config, visit).all(weights);
}

// Where each array goes in the copy. An array that is used twice (a head tied to the embedding) is copied once.
class Layout {
  public:
    struct Place {
        int64_t offset = 0;
        bool first = false;  // whether this is the first use of the array
    };

    Place add(const void* array, int64_t bytes) {
        const auto [entry, fresh] = offsets_.try_emplace(array, bytes_);
        if (fresh) bytes_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
        return {entry->second, fresh};
    }
    int64_t bytes() const { return bytes_; }

  private:
    static constexpr int64_t kAlignment = 256;
    std::unordered_map<const void*, int64_t> offsets_;
    int64_t bytes_ = 0;
};

// A layer's experts, as the model has them, stay in ordinary memory.
void leave_experts(const std::vector<FfnMatrices>& experts, FeedForwardWeights& ffn) {
    ffn.host_experts = experts;
    std::ranges::transform(ffn.host_experts, ffn.experts.begin(), absent_ffn);
}

}  // namespace

int64_t PlacedWeights::expert_copy_bytes() const {
    int64_t bytes = 0;
    for (const Buffer& copy : expert_copies) bytes += static_cast<int64_t>(copy.bytes());
    return bytes;
}

int64_t placed_weight_bytes(const HybridConfig& config, const HybridWeights& weights) {
    HybridWeights views = weights;
    Layout layout;
    visit_arrays(config, views, [&](const auto*& array, int64_t bytes) {
        if (array != nullptr && bytes > 0) layout.add(array, bytes);
    });
    return layout.bytes();
}

Result<PlacedWeights> place_weights(const HybridConfig& config, const HybridWeights& weights, Backend& backend,
                                    ExpertsGo experts) {
    Memory& memory = backend.memory();
    PlacedWeights placed{weights, {}, {}};
    if (memory.on_host()) return placed;
    if (experts == ExpertsGo::later) {
        placed.expert_copies.resize(placed.weights.layers.size());
        for (LayerWeights& layer : placed.weights.layers) leave_experts(layer.ffn.experts, layer.ffn);
    }
    const int64_t bytes = placed_weight_bytes(config, placed.weights);
    Result<Buffer> copy = memory.allocate(static_cast<size_t>(bytes), "the weights");
    if (!copy) return copy.error();
    placed.copy = std::move(*copy);
    Layout layout;
    visit_arrays(config, placed.weights, [&]<class Value>(const Value*& array, int64_t bytes) {
        if (array == nullptr || bytes == 0) return;
        const Layout::Place place = layout.add(array, bytes);
        std::byte* to = placed.copy.data() + place.offset;
        if (place.first) memory.upload(to, array, static_cast<size_t>(bytes));
        array = reinterpret_cast<const Value*>(to);
    });
    return placed;
}

Status take_experts(PlacedWeights& placed, int layer, int count, Memory& device) {
    FeedForwardWeights& ffn = placed.weights.layers[static_cast<size_t>(layer)].ffn;
    const std::span<FfnMatrices> taken = std::span(ffn.host_experts).first(static_cast<size_t>(count));
    if (taken.empty()) return {};
    const int64_t distance = placed_ffn_distance(ffn.host_experts);
    Result<Buffer> copy = device.allocate(static_cast<size_t>(count * distance), "experts");
    if (!copy) return copy.error();
    for (size_t i = 0; i < taken.size(); ++i) {
        ffn.experts[i] = place_ffn(taken[i], copy->data() + static_cast<int64_t>(i) * distance, device);
        taken[i] = absent_ffn(taken[i]);
    }
    if (taken.size() == ffn.host_experts.size()) ffn.host_experts.clear();
    placed.expert_copies[static_cast<size_t>(layer)] = std::move(*copy);
    ++placed.weights.placement;
    return {};
}

void return_experts(PlacedWeights& placed, int layer, const HybridWeights& weights) {
    Buffer& copy = placed.expert_copies[static_cast<size_t>(layer)];
    if (copy.bytes() == 0) return;
    leave_experts(weights.layers[static_cast<size_t>(layer)].ffn.experts,
                  placed.weights.layers[static_cast<size_t>(layer)].ffn);
    copy = Buffer();
    ++placed.weights.placement;
}

int64_t bytes_left_on_host(const HybridWeights& placed) {
    int64_t bytes = 0;
    for (const LayerWeights& layer : placed.layers) {
        for (const FfnMatrices& expert : layer.ffn.host_experts)
            bytes += expert.absent() ? 0 : placed_ffn_bytes(expert);
    }
    return bytes;
}

}  // namespace octavo
