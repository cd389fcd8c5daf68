#include "ui/screenshot.h"

#include "ui/headless.h"

namespace octavo {

std::string screenshot_png(const WindowLayout& layout, const ViewState& state) {
    HeadlessWindow window(layout);
    window.settle(state, 6);
    return encode_png(window.picture());
}

}  // namespace octavo
