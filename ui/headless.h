// The interface without a window: frames of a chosen size, input put in by hand, time that stands still unless told.
// For tests, for pictures, and for the program's self-test.
//
// Threads: the one that made it.
#pragma once

#include <string_view>

#include "ui/image.h"
#include "ui/imgui_session.h"
#include "ui/interface.h"

namespace octavo {

class HeadlessWindow {
  public:
    // layout.width and height are the size in pixels.
    explicit HeadlessWindow(const WindowLayout& layout);

    // One frame; what it asked for. `seconds` is added to the clock before it.
    Actions frame(const ViewState& state, double seconds = 1.0 / 60);
    // Frames until nothing moves any more.
    Actions settle(const ViewState& state, int frames = 4);
    Image picture() const;  // of the last frame

    ImGuiIO& io() { return session_.io(); }
    Interface& interface() { return interface_; }
    double seconds() const { return seconds_; }
    // Seconds after which the last frame would change by itself.
    double next_frame_in() const { return next_frame_in_; }

  private:
    ImGuiSession session_;
    Interface interface_;
    double seconds_ = 0;
    double next_frame_in_ = 0;
};

}  // namespace octavo
