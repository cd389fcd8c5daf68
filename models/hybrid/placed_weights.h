// A model's weights where a back end can read them: the file's own bytes for a back end in ordinary memory, copies for
// a device. A device may leave experts where they are (split_backend.h computes with those), and take them in, and give
// them back, layer by layer.
//
// Errors: ErrorKind::memory with the bytes wanted and free.
// Threads: the thread that calls the back end, between passes. Non-goals: who needs the room more.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/backend.h"
#include "models/hybrid/config.h"
#include "models/hybrid/weights.h"

namespace octavo {

struct PlacedWeights {
    HybridWeights weights;  // views of the model's bytes, or of the copies
    Buffer copy;
    std::vector<Buffer> expert_copies;  // [layers], of experts that were left and came later; else empty

    int64_t expert_copy_bytes() const;
};

enum class ExpertsGo { along, later };

// `backend`, and where its memory is ordinary memory the model, outlive what comes back.
Result<PlacedWeights> place_weights(const HybridConfig& config, const HybridWeights& weights, Backend& backend,
                                    ExpertsGo experts = ExpertsGo::along);

// Bytes that place_weights takes from a device's memory.
int64_t placed_weight_bytes(const HybridConfig& config, const HybridWeights& weights);

// Takes the first `count` experts of a layer in that has left them all behind.
Status take_experts(PlacedWeights& placed, int layer, int count, Memory& device);
// Gives back what take_experts took of a layer.
void return_experts(PlacedWeights& placed, int layer, const HybridWeights& weights);
// Bytes of ordinary memory that a back end with these weights reads experts from.
int64_t bytes_left_on_host(const HybridWeights& placed);

}  // namespace octavo
