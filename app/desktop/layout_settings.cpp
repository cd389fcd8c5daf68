#include "app/desktop/layout_settings.h"

#include <algorithm>

namespace octavo {

WindowLayout layout_of(const Settings& settings) {
    WindowLayout layout;
    const auto size = [&](const char* key, int value) {
        return static_cast<int>(std::clamp<int64_t>(settings.integer(key).value_or(value), 200, 16384));
    };
    const auto number = [&](const char* key, float value, float least, float most) {
        return std::clamp(static_cast<float>(settings.number(key).value_or(static_cast<double>(value))), least, most);
    };
    layout.width = size("window_width", layout.width);
    layout.height = size("window_height", layout.height);
    layout.scale = number("window_scale", layout.scale, smallest_scale, largest_scale);
    layout.theme = settings.flag("window_light").value_or(false) ? ThemeChoice::light : ThemeChoice::dark;
    layout.list_open = settings.flag("window_list_open").value_or(layout.list_open);
    layout.list_width = number("window_list_width", layout.list_width, 100, 2000);
    layout.panel_open = settings.flag("window_panel_open").value_or(layout.panel_open);
    layout.panel_width = number("window_panel_width", layout.panel_width, 100, 2000);
    layout.panel = static_cast<SidePanel>(std::clamp<int64_t>(
        settings.integer("window_panel").value_or(static_cast<int64_t>(layout.panel)), 0, side_panel_count - 1));
    return layout;
}

Settings to_stored(const WindowLayout& layout) {
    Settings settings;
    settings.set_integer("window_width", layout.width);
    settings.set_integer("window_height", layout.height);
    settings.set_number("window_scale", static_cast<double>(layout.scale));
    settings.set_flag("window_light", layout.theme == ThemeChoice::light);
    settings.set_flag("window_list_open", layout.list_open);
    settings.set_number("window_list_width", static_cast<double>(layout.list_width));
    settings.set_flag("window_panel_open", layout.panel_open);
    settings.set_number("window_panel_width", static_cast<double>(layout.panel_width));
    settings.set_integer("window_panel", static_cast<int64_t>(layout.panel));
    return settings;
}

}  // namespace octavo
