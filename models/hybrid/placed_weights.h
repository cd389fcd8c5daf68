// A model's weights where a back end can read them: the file's own bytes for a back end in ordinary memory, a copy in
// one piece for a device.
//
// Errors: ErrorKind::memory with the bytes wanted and free.
// Threads: the thread that calls the back end. Non-goals: weights spread over several places.
#pragma once

#include <cstdint>

#include "kernels/backend.h"
#include "models/hybrid/config.h"
#include "models/hybrid/weights.h"

namespace octavo {

struct PlacedWeights {
    HybridWeights weights;  // views of the model's bytes, or of `copy`
    Buffer copy;
};

// `backend`, and where its memory is ordinary memory the model, outlive what comes back.
Result<PlacedWeights> place_weights(const HybridConfig& config, const HybridWeights& weights, Backend& backend);

// Bytes that place_weights takes from a device's memory.
int64_t placed_weight_bytes(const HybridConfig& config, const HybridWeights& weights);

}  // namespace octavo
