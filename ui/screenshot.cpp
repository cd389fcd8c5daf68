#include "ui/screenshot.h"

#include "ui/headless.h"

namespace octavo {

std::string screenshot_png(const WindowLayout& layout, const ViewState& state, bool open_panel) {
    HeadlessWindow window(layout);
    window.settle(state, 1);  // only then it knows what has room
    if (open_panel) window.interface().show_panel(layout.panel);
    window.settle(state, 6);
    return encode_png(window.picture());
}

}  // namespace octavo
