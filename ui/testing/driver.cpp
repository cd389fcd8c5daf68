#include "ui/testing/driver.h"

#include <imgui_internal.h>

#include <iterator>
#include <utility>

namespace octavo {
namespace {

// "Save##notes" is named by itself, by "Save" and by "##notes".
bool names(std::string_view name, std::string_view label) {
    if (label == name) return true;
    const size_t at = label.find("##");
    return at != std::string_view::npos && (label.substr(0, at) == name || label.substr(at) == name);
}

}  // namespace

UiDriver::UiDriver(const WindowLayout& layout, const ViewState& state)
    : state_(state), window_(layout), misuses_before_(octavo_imgui_misuses()) {
    ImGuiContext& context = *ImGui::GetCurrentContext();
    context.TestEngine = static_cast<OctavoImGuiWatch*>(this);
    context.TestEngineHookItems = true;
    frames();
}

UiDriver::~UiDriver() { ImGui::GetCurrentContext()->TestEngineHookItems = false; }

void UiDriver::frames(int count) {
    for (int i = 0; i < count; ++i) {
        items_.clear();
        Actions some = window_.frame(state_);
        actions_.insert(actions_.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
    }
}

Actions UiDriver::take_actions() { return std::exchange(actions_, {}); }

int UiDriver::misuses() const { return octavo_imgui_misuses() - misuses_before_; }

const SeenItem* UiDriver::find(std::string_view name) {
    for (const SeenItem& item : items_)
        if (!item.label.empty() && names(name, item.label)) return &item;
    return nullptr;
}

void UiDriver::move_to(ImVec2 position) {
    window_.io().AddMousePosEvent(position.x, position.y);
    frames(2);
}

void UiDriver::click_at(ImVec2 position, ImGuiMouseButton button) {
    move_to(position);
    window_.io().AddMouseButtonEvent(button, true);
    frames(1);
    window_.io().AddMouseButtonEvent(button, false);
    frames(3);
}

bool UiDriver::hover(std::string_view name) {
    const SeenItem* item = find(name);
    if (item == nullptr) return false;
    move_to({(item->min.x + item->max.x) / 2, (item->min.y + item->max.y) / 2});
    return true;
}

bool UiDriver::click(std::string_view name, ImGuiMouseButton button) {
    const SeenItem* item = find(name);
    if (item == nullptr) return false;
    click_at({(item->min.x + item->max.x) / 2, (item->min.y + item->max.y) / 2}, button);
    return true;
}

void UiDriver::drag(ImVec2 from, ImVec2 to) {
    move_to(from);
    window_.io().AddMouseButtonEvent(ImGuiMouseButton_Left, true);
    frames(2);
    move_to({(from.x + to.x) / 2, (from.y + to.y) / 2});
    move_to(to);
    window_.io().AddMouseButtonEvent(ImGuiMouseButton_Left, false);
    frames(3);
}

void UiDriver::scroll(ImVec2 position, float lines) {
    move_to(position);
    window_.io().AddMouseWheelEvent(0, lines);
    frames(3);
}

void UiDriver::type(std::string_view text) {
    window_.io().AddInputCharactersUTF8(std::string(text).c_str());
    frames(3);
}

void UiDriver::press(ImGuiKeyChord chord) {
    ImGuiIO& io = window_.io();
    constexpr std::pair<int, ImGuiKey> modifiers[] = {
        {ImGuiMod_Ctrl, ImGuiKey_LeftCtrl}, {ImGuiMod_Shift, ImGuiKey_LeftShift}, {ImGuiMod_Alt, ImGuiKey_LeftAlt}};
    const auto key = static_cast<ImGuiKey>(chord & ~ImGuiMod_Mask_);
    const auto set = [&](bool down) {
        for (const auto& [mask, modifier] : modifiers)
            if ((chord & mask) != 0) io.AddKeyEvent(static_cast<ImGuiKey>(mask), down);
        io.AddKeyEvent(key, down);
    };
    set(true);
    frames(2);
    set(false);
    frames(2);
}

std::string UiDriver::seen() const {
    std::string text;
    for (const SeenItem& item : items_)
        if (!item.label.empty()) text += "[" + item.label + "] ";
    return text;
}

void UiDriver::item(ImGuiID id, ImVec2 min, ImVec2 max) { items_.push_back({id, "", min, max}); }

void UiDriver::label(ImGuiID id, const char* text) {
    for (auto item = items_.rbegin(); item != items_.rend(); ++item)
        if (item->id == id) {
            item->label = text;
            return;
        }
}

}  // namespace octavo
