// Processor time of the window's frames without a display: what Dear ImGui and the interface take before anything is
// drawn.  window_bench [sample...]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "ui/headless.h"
#include "ui/testing/sample_states.h"

namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

void measure(std::string_view name) {
    const auto state = octavo::sample_state(name);
    if (!state) {
        std::printf("%s\n", state.error().message.c_str());
        return;
    }
    octavo::HeadlessWindow window(octavo::WindowLayout{});
    const auto start = Clock::now();
    (void)window.frame(*state);
    const double first = ms_since(start);
    int settling = 0;
    double worst = 0;
    while (window.next_frame_in() < 1 && settling < 10000) {
        const auto frame = Clock::now();
        (void)window.frame(*state);
        worst = std::max(worst, ms_since(frame));
        ++settling;
    }
    constexpr int frames = 300;
    const auto steady = Clock::now();
    for (int i = 0; i < frames; ++i) {
        window.io().AddMousePosEvent(600, 200.0f + static_cast<float>(i));
        window.io().AddMouseWheelEvent(0, i % 40 < 20 ? 0.5f : -0.5f);
        (void)window.frame(*state);
    }
    std::printf(
        "%-12s first %.2f ms, then %d of at most %.2f ms, then %.3f ms a frame while scrolling (n=%d), %d vertices\n",
        std::string(name).c_str(), first, settling, worst, ms_since(steady) / frames, frames,
        ImGui::GetDrawData()->TotalVtxCount);
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string_view> names =
        argc > 1 ? std::vector<std::string_view>(argv + 1, argv + argc) : std::vector<std::string_view>{"chat", "long"};
    for (const std::string_view name : names) measure(name);
    return 0;
}
