#include "ui/panels/sampling_panel.h"

#include "ui/widgets.h"

namespace octavo {

void draw_sampling_panel(Ui& ui, const SamplingState& state, SamplingInput& /*input*/, Actions& actions) {
    section(ui, "Sampling");
    SamplingChoice choice = state.applied;
    ImGui::SetNextItemWidth(-1);
    if (ImGui::SliderFloat("##temperature", &choice.sampler.temperature, 0, 2, "Temperature %.2f"))
        actions.push_back(action::SetSampling{choice});
}

}  // namespace octavo
