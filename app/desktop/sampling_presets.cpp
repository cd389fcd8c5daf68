#include "app/desktop/sampling_presets.h"

#include <algorithm>

#include "app/recommended_sampling.h"

namespace octavo {
namespace {

SamplingPreset preset(const char* name, const SamplerOptions& sampler) {
    return {name, sampling_text(sampler), sampler};
}

}  // namespace

std::vector<SamplingPreset> sampling_presets(const ModelText& model) {
    SamplerOptions greedy;
    greedy.temperature = 0;
    SamplerOptions focused;
    focused.temperature = 0.6f;
    focused.top_k = 20;
    focused.top_p = 0.95f;
    SamplerOptions lively;
    lively.temperature = 1.0f;
    lively.min_p = 0.05f;
    std::vector<SamplingPreset> presets = {
        preset(model.sampling.any() ? "From the model file" : "Usual", recommended_sampling(model)),
        preset("Exact", greedy), preset("Focused", focused), preset("Lively", lively)};
    // One that is what the model gets anyway would be a second name for the same row.
    const std::string first = presets.front().text;
    presets.erase(std::remove_if(presets.begin() + 1, presets.end(),
                                 [&](const SamplingPreset& other) { return other.text == first; }),
                  presets.end());
    return presets;
}

}  // namespace octavo
