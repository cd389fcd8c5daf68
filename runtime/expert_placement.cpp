#include "runtime/expert_placement.h"

#include <algorithm>
#include <utility>

#include "kernels/placed_ffn.h"

namespace octavo {

Status ExpertPlacement::place(Backend& backend, ExpertsGo experts) {
    Result<PlacedWeights> placed = place_weights(model_.config, model_.weights, backend, experts);
    if (!placed) return placed.error();
    placed_ = std::move(*placed);
    count();
    return {};
}

int ExpertPlacement::layers() const {
    return static_cast<int>(std::ranges::count_if(
        model_.weights.layers, [](const LayerWeights& layer) { return !layer.ffn.experts.empty(); }));
}

void ExpertPlacement::use_host_experts(Among layers) {
    if (!yields()) return;
    bool used = false;
    for (size_t layer = 0; layer < placed_.weights.layers.size(); ++layer) {
        FeedForwardWeights& ffn = placed_.weights.layers[layer].ffn;
        const bool leave_out = used && layers == Among::one_layer;
        ffn.host_experts = leave_out ? std::vector<FfnMatrices>() : model_.weights.layers[layer].ffn.experts;
        used = used || !ffn.host_experts.empty();
    }
    ++placed_.weights.placement;
    count();
}

Status ExpertPlacement::take_in(int64_t room, Memory& device) {
    if (!yields()) return {};
    taking_in_ = true;
    Status status;
    for (size_t layer = 0; status && layer < placed_.weights.layers.size(); ++layer) {
        const std::vector<FfnMatrices>& experts = placed_.weights.layers[layer].ffn.host_experts;
        if (experts.empty()) continue;
        const int64_t bytes = placed_ffn_distance(experts);
        const auto held = static_cast<int64_t>(placed_.expert_copies[layer].bytes());
        const int64_t fitting = std::min(std::ssize(experts), (room + held) / bytes);
        if (fitting * bytes <= held) break;
        return_experts(placed_, static_cast<int>(layer), model_.weights);  // a part becomes a larger one
        status = take_experts(placed_, static_cast<int>(layer), static_cast<int>(fitting), device);
        room -= fitting * bytes - held;
    }
    taking_in_ = false;
    count();
    return status;
}

void ExpertPlacement::give_back(int64_t bytes) {
    if (taking_in_) return;
    for (size_t layer = placed_.expert_copies.size(); bytes > 0 && layer > 0; --layer) {
        bytes -= static_cast<int64_t>(placed_.expert_copies[layer - 1].bytes());
        return_experts(placed_, static_cast<int>(layer - 1), model_.weights);
    }
    count();
}

Yielding ExpertPlacement::yielding() {
    return {[this] { return taking_in_ ? 0 : static_cast<size_t>(device_bytes_); },
            [this](size_t bytes) { give_back(static_cast<int64_t>(bytes)); }};
}

void ExpertPlacement::count() {
    device_bytes_ = placed_.expert_copy_bytes();
    host_bytes_ = bytes_left_on_host(placed_.weights);
    whole_layers_ = static_cast<int>(std::ranges::count_if(placed_.weights.layers, [](const LayerWeights& layer) {
        return !layer.ffn.experts.empty() && layer.ffn.host_experts.empty();
    }));
}

}  // namespace octavo
