#include "app/recommended_sampling.h"

#include <fmt/format.h>

namespace octavo {

SamplerOptions recommended_sampling(const ModelText& model) {
    const SamplingHints& hints = model.sampling;
    SamplerOptions sampler;
    if (model.source == "bundled") sampler.temperature = 0;
    sampler.temperature = hints.temperature.value_or(sampler.temperature);
    sampler.top_k = hints.top_k.value_or(sampler.top_k);
    sampler.top_p = hints.top_p.value_or(sampler.top_p);
    sampler.min_p = hints.min_p.value_or(sampler.min_p);
    sampler.repeat_penalty = hints.repeat_penalty.value_or(sampler.repeat_penalty);
    return sampler;
}

std::string sampling_text(const SamplerOptions& sampler) {
    if (sampler.temperature == 0) return "always the most probable token";
    std::string text = fmt::format("temperature {:g}", sampler.temperature);
    if (sampler.top_k > 0) text += fmt::format(", top-k {}", sampler.top_k);
    if (sampler.top_p < 1) text += fmt::format(", top-p {:g}", sampler.top_p);
    if (sampler.min_p > 0) text += fmt::format(", min-p {:g}", sampler.min_p);
    if (sampler.repeat_penalty != 1) text += fmt::format(", repeat penalty {:g}", sampler.repeat_penalty);
    return text;
}

}  // namespace octavo
