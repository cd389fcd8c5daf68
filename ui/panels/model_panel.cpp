#include "ui/panels/model_panel.h"

#include <imgui.h>

#include <algorithm>
#include <string>

#include "ui/number_text.h"
#include "ui/panels/controls.h"
#include "ui/panels/model_list.h"
#include "ui/widgets.h"

namespace octavo {
namespace {

void draw_loaded(Ui& ui, const ModelState::Loaded& model) {
    text_line(ui, Face::heading, ui.theme.text, model.name, ImGui::GetContentRegionAvail().x);
    text_block(ui, Face::small, ui.theme.muted, model.path.empty() ? "part of this program" : model.path);
    space(ui, 2);
    figure_row(ui, "File", model.architecture);
    figure_row(ui, "Size", model.parameters);
    figure_row(ui, "Weights", format_size(model.bytes));
    text_block(ui, Face::small, ui.theme.muted, model.quantisation);
    figure_row(ui, "Layers",
               format_count(model.layers) + ", " + format_count(model.attention_layers) + " with a KV cache");
    figure_row(ui, "Longest context", format_count(model.context_tokens) + " tokens");
    text_block(ui, Face::small, ui.theme.muted, model.placement);
}

void draw_loading(Ui& ui, const ModelState::Loading& loading, Actions& actions) {
    text_line(ui, Face::strong, ui.theme.text, "Loading " + loading.name, ImGui::GetContentRegionAvail().x);
    const bool known = loading.total_bytes > 0;
    progress_bar(ui, known ? static_cast<double>(loading.done_bytes) / static_cast<double>(loading.total_bytes) : -1);
    if (known)
        text_line(ui, Face::small, ui.theme.muted,
                  format_size(loading.done_bytes) + " of " + format_size(loading.total_bytes));
    if (button(ui, loading.cancelling ? "Cancelling…##cancel-load" : "Cancel##cancel-load",
               {.icon = Icon::close, .width = -1, .enabled = !loading.cancelling}))
        actions.push_back(action::CancelLoad{});
}

void draw_choices(Ui& ui, const ModelState& state, Actions& actions) {
    if (button(ui, "Open a model file…##pick", {.kind = ButtonKind::primary, .icon = Icon::open, .width = -1}))
        actions.push_back(action::PickModel{});
    text_block(ui, Face::small, ui.theme.muted, "Or drop a GGUF file or a folder of safetensors on the window.");
    const bool bundled = state.loaded && state.loaded->path.empty();
    if (!bundled && button(ui, "Use Pocket, the bundled model##bundled", {.width = -1}))
        actions.push_back(action::LoadModel{""});
}

void draw_folder(Ui& ui, const ModelState::Folder& folder, Actions& actions) {
    ImGui::PushID(folder.path.c_str());
    const std::string figure = format_count(folder.models) + (folder.models == 1 ? " model" : " models");
    if (folder.source.empty()) {
        text_line(ui, Face::small, ui.theme.muted, folder.path,
                  std::max(ImGui::GetContentRegionAvail().x - ui.px(30), ui.px(40)));
        ImGui::SameLine(ImGui::GetCursorPosX() + ImGui::GetContentRegionAvail().x - ui.px(24));
        if (button(ui, "##remove-folder",
                   {.kind = ButtonKind::quiet, .icon = Icon::close, .tooltip = "Look here no longer", .small = true}))
            actions.push_back(action::RemoveModelFolder{folder.path});
    } else {
        text_line(ui, Face::small, ui.theme.muted, folder.source + ": " + figure, ImGui::GetContentRegionAvail().x);
        tooltip(ui, folder.path);
    }
    if (!folder.error.empty()) text_block(ui, Face::small, ui.theme.warning, folder.error);
    ImGui::PopID();
}

void draw_folders(Ui& ui, const ModelState& state, Actions& actions) {
    section(ui, "Where models are looked for");
    for (const ModelState::Folder& folder : state.folders) draw_folder(ui, folder, actions);
    const float half = (ImGui::GetContentRegionAvail().x - ImGui::GetStyle().ItemSpacing.x) / 2;
    if (button(ui, "Add a folder…##add-folder", {.icon = Icon::folder, .width = half, .small = true}))
        actions.push_back(action::PickModelFolder{});
    ImGui::SameLine();
    if (button(ui, state.searching ? "Looking…##rescan" : "Look again##rescan",
               {.icon = Icon::retry, .width = half, .enabled = !state.searching, .small = true}))
        actions.push_back(action::RescanModelFolders{});
}

void draw_devices(Ui& ui, const ModelState& state, Actions& actions) {
    if (state.devices.empty()) return;
    section(ui, "Device");
    for (const ModelState::Device& device : state.devices) {
        const std::string label = device.label + "##device-" + device.id;
        if (button(ui, label.c_str(),
                   {.width = -1,
                    .tooltip = device.unavailable.empty() ? nullptr : device.unavailable.c_str(),
                    .enabled = device.unavailable.empty(),
                    .small = true,
                    .selected = device.id == state.device}))
            actions.push_back(action::SetDevice{device.id});
        if (!device.unavailable.empty()) text_block(ui, Face::small, ui.theme.muted, device.unavailable);
    }
}

}  // namespace

void draw_model_panel(Ui& ui, const ModelState& state, ModelInput& input, Actions& actions) {
    section(ui, "Model");
    if (state.loading) draw_loading(ui, *state.loading, actions);
    if (!state.error.empty()) text_block(ui, Face::body, ui.theme.error, state.error);
    if (state.loaded)
        draw_loaded(ui, *state.loaded);
    else if (!state.loading)
        text_block(ui, Face::body, ui.theme.muted, "No model is loaded.");
    space(ui, 6);
    draw_choices(ui, state, actions);
    draw_model_list(ui, state, input, actions);
    draw_folders(ui, state, actions);
    draw_devices(ui, state, actions);
    section(ui, "This machine");
    text_block(ui, Face::small, ui.theme.muted, state.machine);
}

}  // namespace octavo
