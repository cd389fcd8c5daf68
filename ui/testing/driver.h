// Clicks and types in a headless window by the names of its items, as a person would: the mouse moves, a button goes
// down and up, letters arrive one after another.
//
// An item is named by the text on it, or by its whole label ("Save##notes"), or by what stands after "##" where nothing
// else is unique. Only items that are on the screen are found.
//
// Threads: the one that made the window.
#pragma once

#include <imgui.h>
#include <octavo_imgui_watch.h>

#include <string>
#include <string_view>
#include <vector>

#include "ui/headless.h"

namespace octavo {

struct SeenItem {
    ImGuiID id = 0;
    std::string label;  // empty for items that report none
    ImVec2 min, max;
};

class UiDriver : private OctavoImGuiWatch {
  public:
    UiDriver(const WindowLayout& layout, const ViewState& state);
    ~UiDriver() override;
    UiDriver(const UiDriver&) = delete;
    UiDriver& operator=(const UiDriver&) = delete;

    ViewState& state() { return state_; }
    HeadlessWindow& window() { return window_; }

    // Draws frames; the actions are kept until taken.
    void frames(int count = 3);
    Actions take_actions();

    const SeenItem* find(std::string_view name);  // in the last frame; null: not there
    bool click(std::string_view name, ImGuiMouseButton button = ImGuiMouseButton_Left);
    bool hover(std::string_view name);
    void click_at(ImVec2 position, ImGuiMouseButton button = ImGuiMouseButton_Left);
    void drag(ImVec2 from, ImVec2 to);
    void scroll(ImVec2 position, float lines);
    void type(std::string_view text);
    void press(ImGuiKeyChord chord);
    // Every item of the last frame, for messages of failed tests.
    std::string seen() const;
    // Misuses of Dear ImGui since the driver was made (see imconfig.h).
    int misuses() const;

  private:
    void item(ImGuiID id, ImVec2 min, ImVec2 max) override;
    void label(ImGuiID id, const char* text) override;
    void move_to(ImVec2 position);

    ViewState state_;
    HeadlessWindow window_;
    std::vector<SeenItem> items_;
    Actions actions_;
    int misuses_before_ = 0;
};

}  // namespace octavo
