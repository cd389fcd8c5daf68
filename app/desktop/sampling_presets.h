// Sampling to choose with one click, and what a model is sampled with until somebody chooses.
//
// Threads: pure functions.
#pragma once

#include <vector>

#include "models/model.h"
#include "ui/state/sampling_state.h"

namespace octavo {

// What the file recommends; where it says nothing, plain sampling for models of one's own, and the best token each
// time for the bundled one, which recalls and has nothing to be creative about.
SamplerOptions recommended_sampling(const Model& model);

std::vector<SamplingPreset> sampling_presets(const Model& model);

}  // namespace octavo
