// octavo window: the desktop window, which a plain `octavo` opens where there is a display.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>

#include "app/commands/commands.h"
#include "app/desktop/desktop.h"
#include "app/desktop/layout_settings.h"
#include "app/desktop/real_engine.h"
#include "app/options.h"
#include "app/output.h"
#include "ui/window.h"

namespace octavo {
namespace {

int64_t system_ms() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

}  // namespace

Status run_window(const std::string& model) {
    // Looked at first, so that nothing is opened or made where no window can follow.
    if (std::getenv("DISPLAY") == nullptr && std::getenv("WAYLAND_DISPLAY") == nullptr)
        return Error{ErrorKind::device, "There is no display for a window, so the chat is in this terminal."};
    StoreOptions store_options;
    store_options.file = default_store_file();
    StoreThread store(store_options);
    const Result<Settings> settings = store.ask([](Store& opened) { return opened.settings(); }).get();
    if (!settings) return settings.error();
    const Result<std::unique_ptr<Window>> window = Window::open(layout_of(*settings));
    if (!window) return window.error();
    DesktopOptions options;
    options.make_engine = make_real_engine;
    options.store = &store;
    options.settings = *settings;
    options.model = model;
    options.wake = (*window)->waker();
    options.now_ms = system_ms;
    options.other_places = [] { return places_of_other_programs(process_environment()); };
    const std::unique_ptr<WindowClient> desktop = make_desktop(std::move(options));
    (*window)->run(*desktop);
    return {};
}

RunCommand add_window_command(CLI::App& command) {
    auto model = std::make_shared<std::string>();
    add_file_option(command, "-m,--model", *model, "Model to begin with: a GGUF file or a folder with safetensors");
    return [model] {
        const Status status = run_window(*model);
        return status ? 0 : fail(status.error());
    };
}

}  // namespace octavo
