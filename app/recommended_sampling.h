// What a model is sampled with until somebody chooses, in the window and at the terminal.
//
// Threads: pure functions.
#pragma once

#include <string>

#include "models/model_text.h"
#include "runtime/sampler.h"

namespace octavo {

// What the file recommends; where it says nothing, plain sampling for models of one's own, and the best token each
// time for the bundled one, which recalls and has nothing to be creative about.
SamplerOptions recommended_sampling(const ModelText& model);

// "temperature 0.6, top-k 20, top-p 0.95"
std::string sampling_text(const SamplerOptions& sampler);

}  // namespace octavo
