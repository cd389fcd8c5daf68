// Sampling to choose with one click.
//
// Threads: pure functions.
#pragma once

#include <vector>

#include "models/model_text.h"
#include "ui/state/sampling_state.h"

namespace octavo {

std::vector<SamplingPreset> sampling_presets(const ModelText& model);

}  // namespace octavo
