#include "ui/panels/sampling_panel.h"

#include <fmt/format.h>
#include <imgui.h>

#include <charconv>

#include "ui/number_text.h"
#include "ui/panels/controls.h"
#include "ui/widgets.h"

namespace octavo {
namespace {

constexpr int64_t kMostTopK = 200;
constexpr int64_t kMostReply = 32768;

std::string two_digits(float value) { return fmt::format("{:.2f}", value); }

// Digits only; anything else leaves the seed as it was.
bool read_seed(const std::string& text, uint64_t& seed) {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return false;
    seed = value;
    return true;
}

// Presets as rows: what a click would set is readable without it.
bool draw_presets(Ui& ui, const SamplingState& state, SamplerOptions& sampler) {
    bool changed = false;
    for (const SamplingPreset& preset : state.presets) {
        const std::string label = preset.name + "##preset";
        const SamplerOptions& wanted = preset.sampler;
        const bool holds = wanted.temperature == sampler.temperature && wanted.top_k == sampler.top_k &&
                           wanted.top_p == sampler.top_p && wanted.min_p == sampler.min_p;
        if (button(ui, label.c_str(),
                   {.width = -1, .tooltip = preset.text.c_str(), .small = true, .selected = holds})) {
            const uint64_t seed = sampler.seed;
            sampler = wanted;
            sampler.seed = seed;
            changed = true;
        }
    }
    return changed;
}

// True once a slider was let go.
bool draw_sliders(Ui& ui, SamplerOptions& sampler) {
    bool done = false;
    const auto row = [&](const char* name, const char* id, const std::string& value, const char* text, float& number,
                         float least, float most) {
        slider_row(ui, {.name = name, .id = id, .value = value, .tooltip = text}, number, least, most);
        done |= ImGui::IsItemDeactivatedAfterEdit();
    };
    row("Temperature", "##temperature",
        sampler.temperature == 0 ? "0, the best token" : two_digits(sampler.temperature),
        "Higher is more varied; 0 always takes the most probable token.", sampler.temperature, 0, 2);
    int64_t top_k = sampler.top_k;
    slider_row(ui,
               {.name = "Top-k",
                .id = "##top-k",
                .value = top_k == 0 ? "all" : format_count(top_k),
                .tooltip = "Only the k most probable tokens; 0 takes all."},
               top_k, 0, kMostTopK, 1);
    done |= ImGui::IsItemDeactivatedAfterEdit();
    sampler.top_k = static_cast<int>(top_k);
    row("Top-p", "##top-p", sampler.top_p >= 1 ? "all" : two_digits(sampler.top_p),
        "The fewest tokens whose probability reaches this share.", sampler.top_p, 0.01f, 1);
    row("Min-p", "##min-p", sampler.min_p <= 0 ? "all" : two_digits(sampler.min_p),
        "Tokens at least this probable, measured against the best one.", sampler.min_p, 0, 1);
    row("Repeat penalty", "##repeat-penalty", sampler.repeat_penalty == 1 ? "none" : two_digits(sampler.repeat_penalty),
        "Above 1 the tokens of the last text become less probable.", sampler.repeat_penalty, 1, 2);
    return done;
}

}  // namespace

void draw_sampling_panel(Ui& ui, const SamplingState& state, SamplingInput& input, Actions& actions) {
    if (!input.seen || input.revision != state.revision) {
        input.choice = state.applied;
        input.seed = fmt::format("{}", input.choice.sampler.seed);
        input.revision = state.revision;
        input.seen = true;
    }
    SamplingChoice& choice = input.choice;
    bool changed = false;

    section(ui, "System prompt");
    changed |= text_area(ui, "##system-prompt", choice.system_prompt, 96);
    const std::string cost =
        state.system_prompt_tokens >= 0 ? format_count(state.system_prompt_tokens) + " tokens, " : "";
    text_block(ui, Face::small, ui.theme.muted, cost + "read before everything else in this conversation");

    if (!state.presets.empty()) {
        section(ui, "Presets");
        changed |= draw_presets(ui, state, choice.sampler);
    }
    section(ui, "Choice of the next token");
    changed |= draw_sliders(ui, choice.sampler);
    text_line(ui, Face::body, ui.theme.muted, "Seed");
    if (text_field(ui, "##seed", input.seed)) {
        changed |= read_seed(input.seed, choice.sampler.seed);
        input.seed = fmt::format("{}", choice.sampler.seed);
    }
    text_block(ui, Face::small, ui.theme.muted, "The same seed, text and settings give the same reply.");

    section(ui, "Reply");
    slider_row(ui,
               {.name = "At most",
                .id = "##max-tokens",
                .value = choice.max_tokens == 0 ? "until it ends" : format_count(choice.max_tokens) + " tokens",
                .logarithmic = true},
               choice.max_tokens, 0, kMostReply, 16);
    changed |= ImGui::IsItemDeactivatedAfterEdit();
    if (state.can_think) {
        static constexpr const char* kThinking[] = {"Thinks first##thinking", "Answers at once##thinking"};
        const int chosen = segments(ui, kThinking, 2, choice.thinking ? 0 : 1);
        if (chosen >= 0) {
            choice.thinking = chosen == 0;
            changed = true;
        }
    }
    if (changed) actions.push_back(action::SetSampling{choice});
}

}  // namespace octavo
