// The Sampling panel.
//
// Threads: values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/sampler.h"

namespace octavo {

struct SamplingChoice {
    SamplerOptions sampler = {};
    int64_t max_tokens = 0;  // 0: until the reply or the context ends
    bool thinking = true;
    std::string system_prompt = {};
};

struct SamplingPreset {
    std::string name = {};
    std::string text = {};
    SamplerOptions sampler = {};
};

struct SamplingState {
    SamplingChoice applied = {};  // of the conversation that is shown
    uint64_t revision = 0;        // another conversation: the panel takes `applied` over
    bool can_think = false;       // the model has thinking that can be switched
    std::vector<SamplingPreset> presets = {};
    int64_t system_prompt_tokens = -1;
};

}  // namespace octavo
