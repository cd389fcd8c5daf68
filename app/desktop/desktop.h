// The program behind the window: takes what a person asks for, drives the engine and the store, and makes the state
// that is drawn. The window draws and asks; nothing here waits, and nothing here draws.
//
// Threads: the interface's, but for the wake function.
// Non-goals: knows no ImGui and no SQL; each tab has a controller of its own.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/desktop/engine_port.h"
#include "app/library/model_places.h"
#include "app/store/store_thread.h"
#include "ui/window.h"

namespace octavo {

struct DesktopOptions {
    // Makes an engine that calls its argument whenever there is something to take; any thread.
    std::function<std::unique_ptr<EnginePort>(std::function<void()> wake)> make_engine;
    StoreThread* store = nullptr;     // outlives the desktop
    Settings settings;                // of the program, as the store has them
    std::string model;                // to be loaded first; empty: the last one, or the bundled one
    std::function<void()> wake;       // makes the window ask for the state again; any thread
    std::function<int64_t()> now_ms;  // since 1970, UTC
    // Where other programs keep models; called on a thread that waits for the disk. nullptr: nowhere.
    std::function<std::vector<ModelPlace>()> other_places = nullptr;
};

std::unique_ptr<WindowClient> make_desktop(DesktopOptions options);

}  // namespace octavo
