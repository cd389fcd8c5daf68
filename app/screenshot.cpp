#include "app/screenshot.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

#include "app/options.h"
#include "app/output.h"
#include "app/output_target.h"
#include "app/text_file.h"
#include "ui/screenshot.h"
#include "ui/testing/sample_states.h"

namespace octavo {
namespace {

constexpr const char* kPanels[side_panel_count] = {"model", "kv", "recall", "sampling"};
constexpr int kSmallest = 160;
constexpr int kLargest = 8192;

// "1280x800" into the layout.
Status read_size(const std::string& text, WindowLayout& layout) {
    const char* end = text.data() + text.size();
    const auto width = std::from_chars(text.data(), end, layout.width);
    if (width.ec == std::errc() && width.ptr != end && *width.ptr == 'x') {
        const auto height = std::from_chars(width.ptr + 1, end, layout.height);
        const auto fits = [](int value) { return value >= kSmallest && value <= kLargest; };
        if (height.ec == std::errc() && height.ptr == end && fits(layout.width) && fits(layout.height)) return {};
    }
    return Error{ErrorKind::usage, fmt::format("--size is '{}': it takes WIDTHxHEIGHT in pixels, each from {} to {}.",
                                               text, kSmallest, kLargest)};
}

Result<WindowLayout> layout_of(const ScreenshotOptions& options) {
    WindowLayout layout;
    layout.scale = options.scale;
    layout.theme = options.theme == "light" ? ThemeChoice::light : ThemeChoice::dark;
    if (!options.panel.empty())
        layout.panel =
            static_cast<SidePanel>(std::find(std::begin(kPanels), std::end(kPanels), options.panel) - kPanels);
    if (const Status status = read_size(options.size, layout); !status) return status.error();
    return layout;
}

}  // namespace

void add_screenshot_options(CLI::App& app, ScreenshotOptions& options) {
    add_file_option(app, "--screenshot", options.file, "Write a picture of the window to a PNG file; needs no display");
    app.add_option("--sample", options.sample,
                   fmt::format("With --screenshot: what it shows: {}", fmt::join(sample_state_names(), ", ")))
        ->type_name("NAME");
    app.add_option("--panel", options.panel, "With --screenshot: model, kv, recall or sampling")
        ->type_name("NAME")
        ->check(CLI::IsMember(std::vector<std::string>(std::begin(kPanels), std::end(kPanels))));
    app.add_option("--size", options.size, "With --screenshot: its size in pixels")->type_name("WxH");
    app.add_option("--scale", options.scale, "With --screenshot: the scale of everything in it")
        ->type_name("S")
        ->check(between(smallest_scale, largest_scale));
    app.add_option("--theme", options.theme, "With --screenshot: light or dark")
        ->type_name("NAME")
        ->check(CLI::IsMember({"light", "dark"}));
}

int run_screenshot(const ScreenshotOptions& options) {
    const Result<WindowLayout> layout = layout_of(options);
    if (!layout) return fail(layout.error());
    const Result<ViewState> state = sample_state(options.sample);
    if (!state) return fail(state.error());
    if (const Status target = check_overwrites_only(options.file, "\x89PNG", "a PNG picture"); !target)
        return fail(target.error());
    if (const Status status = write_text_file(options.file, screenshot_png(*layout, *state, !options.panel.empty()));
        !status)
        return fail(status.error());
    return 0;
}

}  // namespace octavo
