#include "ui/headless.h"

#include <iterator>
#include <limits>

#include "ui/raster.h"

namespace octavo {

HeadlessWindow::HeadlessWindow(const WindowLayout& layout)
    : session_(layout.scale, layout.theme, nullptr), interface_(layout) {
    io().BackendFlags |= ImGuiBackendFlags_RendererHasVtxOffset;
}

Actions HeadlessWindow::frame(const ViewState& state, double seconds) {
    const WindowLayout& layout = interface_.layout();
    session_.prepare(layout.scale, layout.theme);
    seconds_ += seconds;
    io().DeltaTime = static_cast<float>(seconds);
    io().DisplaySize = {static_cast<float>(layout.width), static_cast<float>(layout.height)};
    ImGui::NewFrame();
    next_frame_in_ = std::numeric_limits<double>::infinity();
    Ui ui{session_.theme(), session_.loader(), seconds_, next_frame_in_};
    Actions actions;
    interface_.draw(ui, state, actions);
    ImGui::Render();
    return actions;
}

Actions HeadlessWindow::settle(const ViewState& state, int frames) {
    Actions all;
    for (int i = 0; i < frames; ++i) {
        Actions some = frame(state);
        all.insert(all.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
    }
    return all;
}

Image HeadlessWindow::picture() const {
    const ImDrawData& data = *ImGui::GetDrawData();
    Image image(static_cast<int>(data.DisplaySize.x), static_cast<int>(data.DisplaySize.y), IM_COL32_BLACK);
    rasterise(data, *ImGui::GetIO().Fonts, image);
    return image;
}

}  // namespace octavo
