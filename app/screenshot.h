// `octavo --screenshot FILE.png`: a picture of the window, without a display. What it shows is a made-up state.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace octavo {

struct ScreenshotOptions {
    std::string file;
    std::string sample = "chat";
    std::string panel;  // empty: the usual one, where it has room
    std::string size = "1280x800";
    std::string theme = "dark";
    float scale = 1;

    bool wanted() const { return !file.empty(); }
};

void add_screenshot_options(CLI::App& app, ScreenshotOptions& options);
int run_screenshot(const ScreenshotOptions& options);

}  // namespace octavo
