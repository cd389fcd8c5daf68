// Logits of a whole prompt, and how two sets of them differ: for checks of a back end against the reference.
//
// Threads: one caller; it waits for the engine.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/engine.h"

namespace octavo {

// What a fast back end may differ by from the reference, in the root mean square of the logits: rounding of float32
// through all layers, and of activations to 8 bits where a back end multiplies Q8_0 weights as integers.
constexpr double kFastLogitTolerance = 2e-2;
// The same back end, the prompt read in one part or in many.
constexpr double kSplitLogitTolerance = 5e-3;

struct LogitDifference {
    double relative_rms = 0;  // of the difference, against that of the reference's logits
    int64_t worst_position = 0;
    bool same_best_token = false;  // after the last token
};

// Logits[ids][vocab] of a fresh conversation, read `part` tokens at a time (0: all at once).
Result<std::vector<float>> all_logits(Engine& engine, const std::vector<int32_t>& ids, int64_t part);

double relative_rms_difference(std::span<const float> expected, std::span<const float> actual);

// The model on the chosen device against the model on the reference back end.
Result<LogitDifference> compare_with_reference(std::shared_ptr<const Model> model, const EngineOptions& options,
                                               const std::vector<int32_t>& ids);

}  // namespace octavo
