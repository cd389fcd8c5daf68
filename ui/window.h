// The desktop window: opens it, draws what the client's state says, hands the client what the person asks for. It
// draws only when something happened, and sleeps otherwise.
//
// Threads: everything on the main thread, but for the wake function.
// Non-goals: headless pictures (ui/screenshot.h), what the interface looks like (ui/interface.h).
#pragma once

#include <functional>
#include <memory>

#include "kernels/base/error.h"
#include "ui/actions.h"
#include "ui/layout.h"
#include "ui/view_state.h"

namespace octavo {

// Who owns the engine and the store. Neither function may wait: they run between frames.
class WindowClient {
  public:
    virtual ~WindowClient() = default;
    // What is to be drawn now. Called before each frame; the snapshot is kept until the next call.
    virtual std::shared_ptr<const ViewState> state() = 0;
    virtual void handle(Action action) = 0;
};

class Window {
  public:
    // ErrorKind::device where there is no display or no OpenGL 3: the sentence names `octavo chat`.
    static Result<std::unique_ptr<Window>> open(const WindowLayout& layout);
    virtual ~Window() = default;

    // Makes the window look at the state again; from any thread, while the window lives.
    virtual std::function<void()> waker() const = 0;
    // Returns once the window is closed. Changes of the layout reach the client as action::SetLayout.
    virtual void run(WindowClient& client) = 0;
};

}  // namespace octavo
