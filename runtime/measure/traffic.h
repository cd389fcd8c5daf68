// How many bytes one decoded token has to read: what decode speed is measured against.
//
// Threads: pure functions. Non-goal: prefill, where weights are read once for many tokens.
#pragma once

#include <cstdint>

#include "models/model.h"

namespace octavo {

// Weights: every matrix once, of the experts only those that one token uses, of the embedding one row.
int64_t decode_weight_bytes(const Model& model);

// Of these, the experts'.
int64_t decode_expert_bytes(const Model& model);

// Weights, the KV of `depth` tokens before it, and the recurrent state, which is read and written.
int64_t decode_bytes(const Model& model, int64_t kv_bytes_per_token, int64_t depth);

}  // namespace octavo
