// What attention sees while a model reads a text: keys and values of every position and queries of the last ones, per
// full-attention layer, after norm and rotary, as float32 and before any KV format touches them.
//
// Threads: one caller; it waits for an engine of its own.
// Non-goals: other activations (see Forward::set_probe).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/base/job.h"
#include "runtime/engine.h"
#include "runtime/measure/kv_error.h"

namespace octavo {

// One entry a full-attention layer, in order; families are "layer N", counted from 1 over all layers of the model.
// All rows are held in memory: cells x (2 kv_heads) x head_dim floats a layer. `queries` at most ids.
// job: done and total count tokens.
Result<std::vector<KvActivations>> record_activations(std::shared_ptr<const Model> model, const EngineOptions& options,
                                                      std::span<const int32_t> ids, int64_t queries, Job& job);

}  // namespace octavo
