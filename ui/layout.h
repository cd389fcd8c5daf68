// What of the window's arrangement is remembered from one start to the next.
//
// Threads: values.
#pragma once

namespace octavo {

enum class ThemeChoice { light, dark };
enum class SidePanel { model, kv, recall, sampling };
inline constexpr int side_panel_count = 4;

struct WindowLayout {
    int width = 1280;  // of the window, in screen units
    int height = 800;
    float scale = 1.0f;  // of text and everything else, beside what the screen asks for
    ThemeChoice theme = ThemeChoice::dark;
    bool list_open = true;    // conversations, on the left
    float list_width = 250;   // at scale 1
    bool panel_open = true;   // on the right
    float panel_width = 340;  // at scale 1
    SidePanel panel = SidePanel::kv;

    bool operator==(const WindowLayout&) const = default;
};

inline constexpr float smallest_scale = 0.5f;
inline constexpr float largest_scale = 3.0f;

}  // namespace octavo
