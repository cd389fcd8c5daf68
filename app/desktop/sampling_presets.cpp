#include "app/desktop/sampling_presets.h"

#include <fmt/format.h>

namespace octavo {
namespace {

bool recommends(const SamplingHints& hints) { return hints.temperature || hints.top_k || hints.top_p; }

std::string describe(const SamplerOptions& sampler) {
    if (sampler.temperature == 0) return "always the most probable token";
    std::string text = fmt::format("temperature {:g}", sampler.temperature);
    if (sampler.top_k > 0) text += fmt::format(", top-k {}", sampler.top_k);
    if (sampler.top_p < 1) text += fmt::format(", top-p {:g}", sampler.top_p);
    if (sampler.min_p > 0) text += fmt::format(", min-p {:g}", sampler.min_p);
    return text;
}

SamplingPreset preset(const char* name, const SamplerOptions& sampler) { return {name, describe(sampler), sampler}; }

}  // namespace

SamplerOptions recommended_sampling(const Model& model) {
    const SamplingHints& hints = model.sampling;
    SamplerOptions sampler;
    if (model.source == "bundled") sampler.temperature = 0;
    sampler.temperature = hints.temperature.value_or(sampler.temperature);
    sampler.top_k = hints.top_k.value_or(sampler.top_k);
    sampler.top_p = hints.top_p.value_or(sampler.top_p);
    return sampler;
}

std::vector<SamplingPreset> sampling_presets(const Model& model) {
    SamplerOptions greedy;
    greedy.temperature = 0;
    SamplerOptions focused;
    focused.temperature = 0.6f;
    focused.top_k = 20;
    focused.top_p = 0.95f;
    SamplerOptions lively;
    lively.temperature = 1.0f;
    lively.min_p = 0.05f;
    return {preset(recommends(model.sampling) ? "As the file recommends" : "Usual", recommended_sampling(model)),
            preset("Exact", greedy), preset("Focused", focused), preset("Lively", lively)};
}

}  // namespace octavo
