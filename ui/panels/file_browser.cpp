#include "ui/panels/file_browser.h"

#include <imgui.h>

#include <algorithm>
#include <string>

#include "ui/number_text.h"
#include "ui/panels/controls.h"
#include "ui/widgets.h"

namespace octavo {
namespace {

constexpr const char* kPopup = "##file-browser";

bool writes(FilePurpose purpose) {
    return purpose == FilePurpose::export_conversation || purpose == FilePurpose::export_recall;
}

// A folder itself can be what is wanted.
bool takes_folders(FilePurpose purpose) {
    return purpose == FilePurpose::open_model || purpose == FilePurpose::add_model_folder;
}

std::string joined(const std::string& folder, const std::string& name) {
    if (folder.empty() || folder.ends_with('/')) return folder + name;
    return folder + "/" + name;
}

std::string parent_of(const std::string& folder) {
    const size_t slash = folder.find_last_of('/', folder.size() > 1 ? folder.size() - 2 : 0);
    return slash == std::string::npos || slash == 0 ? "/" : folder.substr(0, slash);
}

const char* verb(FilePurpose purpose) {
    switch (purpose) {
        case FilePurpose::open_model: return "Open##choose";
        case FilePurpose::add_model_folder: return "Add this folder##choose";
        case FilePurpose::attach_text: return "Attach##choose";
        case FilePurpose::import_conversations: return "Import##choose";
        case FilePurpose::export_conversation:
        case FilePurpose::export_recall: return "Save##choose";
        case FilePurpose::none: break;
    }
    return "##choose";
}

void choose(const FileBrowserState& state, const std::string& path, Actions& actions) {
    actions.push_back(action::ChooseFile{state.purpose, path});
}

// A typed path: a folder that is known is opened, anything else is taken as the file that is meant.
void take_typed(const FileBrowserState& state, const FileBrowserInput& input, Actions& actions) {
    if (input.path.empty()) return;
    const size_t slash = input.path.find_last_of('/');
    const std::string name = slash == std::string::npos ? input.path : input.path.substr(slash + 1);
    const std::string folder = slash == std::string::npos ? state.folder : input.path.substr(0, slash);
    const bool in_view = folder == state.folder;
    const auto item =
        std::find_if(state.items.begin(), state.items.end(), [&](const FileItem& each) { return each.name == name; });
    if (in_view && item != state.items.end() && !item->folder)
        choose(state, input.path, actions);
    else
        actions.push_back(action::OpenFolder{input.path});
}

void draw_places(Ui& ui, const FileBrowserState& state, Actions& actions) {
    if (button(ui, "##up",
               {.icon = Icon::up, .tooltip = "The folder above", .enabled = state.folder.size() > 1, .small = true}))
        actions.push_back(action::OpenFolder{parent_of(state.folder)});
    for (const std::string& place : state.places) {
        const std::string name = place.size() > 1 ? place.substr(place.find_last_of('/') + 1) : place;
        const std::string label = name + "##place" + place;
        const float width = text_size(ui, Face::small, name).x + ui.px(18);
        ImGui::SameLine();
        if (ImGui::GetContentRegionAvail().x < width) ImGui::NewLine();
        if (button(ui, label.c_str(), {.icon = Icon::none, .tooltip = place.c_str(), .small = true}))
            actions.push_back(action::OpenFolder{place});
    }
}

bool draw_item(Ui& ui, const FileItem& item, bool marked) {
    const std::string size = item.folder ? "" : format_size(item.bytes);
    return list_row(ui, (item.name + "##item").c_str(),
                    {.icon = item.folder ? Icon::folder : Icon::file, .figure = size, .chosen = marked});
}

void draw_items(Ui& ui, const FileBrowserState& state, FileBrowserInput& input, float height, Actions& actions) {
    ImGui::PushStyleColor(ImGuiCol_ChildBg, ui.theme.background);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(ui.px(4), ui.px(4)));
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(ui.px(4), ui.px(1)));
    ImGui::BeginChild("items", {0, height}, ImGuiChildFlags_AlwaysUseWindowPadding);
    if (!state.error.empty()) text_block(ui, Face::small, ui.theme.error, state.error);
    if (state.loading) text_line(ui, Face::small, ui.theme.muted, "looking…");
    if (!state.loading && state.items.empty() && state.error.empty())
        text_line(ui, Face::small, ui.theme.muted, "nothing here for this purpose");
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(state.items.size()), ui.px(27));
    while (clipper.Step())
        for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
            const FileItem& item = state.items[static_cast<size_t>(i)];
            if (draw_item(ui, item, item.name == input.chosen)) {
                input.chosen = item.name;
                if (item.folder) actions.push_back(action::OpenFolder{joined(state.folder, item.name)});
            }
            if (!item.folder && !writes(state.purpose) && ImGui::IsItemHovered() &&
                ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left))
                choose(state, joined(state.folder, item.name), actions);
        }
    ImGui::EndChild();
    ImGui::PopStyleVar(2);
    ImGui::PopStyleColor();
}

// The path that the main button would take; empty: there is none yet.
std::string wanted_path(const FileBrowserState& state, const FileBrowserInput& input) {
    if (writes(state.purpose)) return input.chosen.empty() ? "" : joined(state.folder, input.chosen);
    if (state.purpose == FilePurpose::add_model_folder) return state.folder;
    for (const FileItem& item : state.items)
        if (item.name == input.chosen && !item.folder) return joined(state.folder, item.name);
    return takes_folders(state.purpose) ? state.folder : "";
}

void draw_content(Ui& ui, const FileBrowserState& state, FileBrowserInput& input, Actions& actions) {
    text_line(ui, Face::heading, ui.theme.text, state.title, ImGui::GetContentRegionAvail().x);
    if (text_field(ui, "##path", input.path, "a path") && input.path != state.folder) take_typed(state, input, actions);
    draw_places(ui, state, actions);
    const float below = ui.px(44) + (writes(state.purpose) ? ui.px(40) : 0);
    draw_items(ui, state, input, std::max(ImGui::GetContentRegionAvail().y - below, ui.px(60)), actions);
    if (writes(state.purpose)) text_field(ui, "##file-name", input.chosen, "name of the file");

    const std::string path = wanted_path(state, input);
    const float half = (ImGui::GetContentRegionAvail().x - ImGui::GetStyle().ItemSpacing.x) / 2;
    if (button(ui, "Cancel##file-browser", {.width = half})) actions.push_back(action::CloseFileBrowser{});
    ImGui::SameLine();
    if (button(ui, verb(state.purpose), {.kind = ButtonKind::primary, .width = half, .enabled = !path.empty()}))
        choose(state, path, actions);
}

}  // namespace

void draw_file_browser(Ui& ui, const FileBrowserState& state, FileBrowserInput& input, Actions& actions) {
    if (state.purpose == FilePurpose::none) {
        if (input.purpose != FilePurpose::none && ImGui::BeginPopupModal(kPopup)) {
            ImGui::CloseCurrentPopup();
            ImGui::EndPopup();
        }
        input = {};
        return;
    }
    if (input.purpose != state.purpose) {
        input.purpose = state.purpose;
        input.chosen = state.file_name;
    }
    if (input.folder != state.folder) {
        input.folder = state.folder;
        input.path = state.folder;
        if (!writes(state.purpose)) input.chosen.clear();
    }
    if (!ImGui::IsPopupOpen(kPopup)) ImGui::OpenPopup(kPopup);
    const ImVec2 screen = ImGui::GetIO().DisplaySize;
    const ImVec2 size(std::min(ui.px(640), screen.x - ui.px(32)), std::min(ui.px(520), screen.y - ui.px(32)));
    ImGui::SetNextWindowPos({(screen.x - size.x) / 2, (screen.y - size.y) / 2});
    ImGui::SetNextWindowSize(size);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(ui.px(16), ui.px(14)));
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(ui.px(8), ui.px(8)));
    ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, ui.px(10));
    if (ImGui::BeginPopupModal(kPopup, nullptr,
                               ImGuiWindowFlags_NoTitleBar | ImGuiWindowFlags_NoResize | ImGuiWindowFlags_NoMove |
                                   ImGuiWindowFlags_NoSavedSettings)) {
        draw_content(ui, state, input, actions);
        if (ImGui::IsKeyPressed(ImGuiKey_Escape)) actions.push_back(action::CloseFileBrowser{});
        ImGui::EndPopup();
    }
    ImGui::PopStyleVar(3);
}

}  // namespace octavo
