// Window with GLFW and OpenGL 3.
#include <GLFW/glfw3.h>
#include <fmt/format.h>
#include <imgui_impl_glfw.h>
#include <imgui_impl_opengl3.h>
#include <imgui_internal.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <utility>

#include "ui/imgui_session.h"
#include "ui/interface.h"
#include "ui/window.h"

namespace octavo {
namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();
// Dear ImGui settles within this many frames after an input.
constexpr int kFramesAfterInput = 3;
// Tooltips and the like appear a while after the mouse came to rest.
constexpr double kSettleTimes[] = {0.25, 0.8};
// Least time between frames, after an input and when the engine asks for them. The engine shares the processor, and
// often the GPU, with them.
constexpr double kInputFrameSeconds = 1.0 / 120;
constexpr double kFrameSeconds = 1.0 / 60;
constexpr double kPrefillFrameSeconds = 1.0 / 15;

struct GlfwLibrary {
    bool ready = glfwInit() == GLFW_TRUE;
    GlfwLibrary() = default;
    ~GlfwLibrary() {
        if (ready) glfwTerminate();
    }
    GlfwLibrary(const GlfwLibrary&) = delete;
    GlfwLibrary& operator=(const GlfwLibrary&) = delete;
};

Error no_window(const std::string& what) {
    const char* reason = nullptr;
    glfwGetError(&reason);
    return {ErrorKind::device, fmt::format("{} ({}): `octavo chat` talks in the terminal instead.", what,
                                           reason != nullptr ? reason : "no reason was given")};
}

class GlfwWindow : public Window {
  public:
    static Result<std::unique_ptr<Window>> open(const WindowLayout& layout) {
        auto window = std::unique_ptr<GlfwWindow>(new GlfwWindow(layout));
        if (!window->library_.ready) return no_window("A window cannot be opened here");
        if (const Status status = window->create(); !status) return status.error();
        return std::unique_ptr<Window>(std::move(window));
    }

    ~GlfwWindow() override {
        if (session_ != nullptr) {
            ImGui_ImplOpenGL3_Shutdown();
            ImGui_ImplGlfw_Shutdown();
            session_.reset();
        }
        if (handle_ != nullptr) glfwDestroyWindow(handle_);
    }

    std::function<void()> waker() const override {
        return [this] {
            woken_.store(true, std::memory_order_release);
            glfwPostEmptyEvent();
        };
    }

    void run(WindowClient& client) override {
        frames_due_ = kFramesAfterInput;
        while (glfwWindowShouldClose(handle_) == GLFW_FALSE) {
            wait();
            if (frame_is_due()) {
                draw(client);
            } else if (state_changed_ && glfwGetWindowAttrib(handle_, GLFW_ICONIFIED) == GLFW_TRUE) {
                // Nobody looks, but what the engine says must still be taken and stored.
                state_changed_ = false;
                (void)client.state();
            }
        }
    }

  private:
    explicit GlfwWindow(const WindowLayout& layout) : interface_(layout), remembered_(layout) {}

    Status create() {
        glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
        glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 0);
        glfwWindowHint(GLFW_SCALE_TO_MONITOR, GLFW_TRUE);
        const WindowLayout& layout = interface_.layout();
        handle_ =
            glfwCreateWindow(std::max(layout.width, 320), std::max(layout.height, 240), "Octavo", nullptr, nullptr);
        if (handle_ == nullptr) return no_window("A window with OpenGL 3 cannot be opened here");
        glfwSetWindowSizeLimits(handle_, 320, 240, GLFW_DONT_CARE, GLFW_DONT_CARE);
        glfwMakeContextCurrent(handle_);
        glfwSwapInterval(1);
        glfwSetWindowUserPointer(handle_, this);
        glfwSetDropCallback(handle_, [](GLFWwindow* handle, int count, const char** paths) {
            auto* self = static_cast<GlfwWindow*>(glfwGetWindowUserPointer(handle));
            self->actions_.push_back(action::DropFiles{{paths, paths + count}});
            self->frames_due_ = kFramesAfterInput;
        });
        const auto redraw = [](GLFWwindow* handle) {
            static_cast<GlfwWindow*>(glfwGetWindowUserPointer(handle))->frames_due_ = kFramesAfterInput;
        };
        glfwSetWindowRefreshCallback(handle_, redraw);

        session_ = std::make_unique<ImGuiSession>(layout.scale * content_scale(), layout.theme, waker());
        ImGui_ImplGlfw_InitForOpenGL(handle_, true);
        ImGui_ImplOpenGL3_Init("#version 130");
        return {};
    }

    float content_scale() const {
        float x = 1;
        float y = 1;
        glfwGetWindowContentScale(handle_, &x, &y);
        return std::clamp(x, 1.0f, 4.0f);
    }

    // Sleeps until something happened or is due.
    void wait() {
        const double now = glfwGetTime();
        const double due = next_frame_time();
        if (due <= now)
            glfwPollEvents();
        else if (due == kForever)
            glfwWaitEvents();
        else
            glfwWaitEventsTimeout(due - now);
        if (ImGui::GetCurrentContext()->InputEventsQueue.Size > 0) {
            frames_due_ = kFramesAfterInput;
            settle_from_ = glfwGetTime();
            settle_step_ = 0;
        }
        if (woken_.exchange(false, std::memory_order_acquire)) state_changed_ = true;
    }

    double next_frame_time() const {
        if (glfwGetWindowAttrib(handle_, GLFW_ICONIFIED) == GLFW_TRUE) return kForever;
        if (frames_due_ > 0) return last_frame_ + kInputFrameSeconds;
        double due = timer_;
        if (settle_step_ < std::size(kSettleTimes)) due = std::min(due, settle_from_ + kSettleTimes[settle_step_]);
        if (state_changed_) due = std::min(due, last_frame_ + wake_interval_);
        return due;
    }

    bool frame_is_due() {
        const double now = glfwGetTime();
        if (next_frame_time() > now) return false;
        if (settle_step_ < std::size(kSettleTimes) && settle_from_ + kSettleTimes[settle_step_] <= now) ++settle_step_;
        return true;
    }

    void draw(WindowClient& client) {
        last_frame_ = glfwGetTime();
        frames_due_ = std::max(frames_due_ - 1, 0);
        state_changed_ = false;
        timer_ = kForever;
        const std::shared_ptr<const ViewState> state = client.state();
        wake_interval_ = state->engine.phase == EnginePhase::prefilling ? kPrefillFrameSeconds : kFrameSeconds;

        if (session_->prepare(interface_.layout().scale * content_scale(), interface_.layout().theme)) {
            ImGui_ImplOpenGL3_DestroyFontsTexture();
            ImGui_ImplOpenGL3_CreateFontsTexture();
        }
        ImGui_ImplOpenGL3_NewFrame();
        ImGui_ImplGlfw_NewFrame();
        ImGui::NewFrame();
        double next_frame_in = kForever;
        Ui ui{session_->theme(), session_->loader(), last_frame_, next_frame_in};
        interface_.draw(ui, *state, actions_);
        ImGui::Render();
        timer_ = last_frame_ + next_frame_in;
        present();

        note_layout();
        for (Action& action : std::exchange(actions_, {})) {
            if (std::holds_alternative<action::Quit>(action)) glfwSetWindowShouldClose(handle_, GLFW_TRUE);
            client.handle(std::move(action));
        }
    }

    void present() {
        ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
        glfwSwapBuffers(handle_);
    }

    // Hands the layout on once a change is complete.
    void note_layout() {
        int width = 0;
        int height = 0;
        glfwGetWindowSize(handle_, &width, &height);
        if (width > 0 && height > 0) {
            interface_.layout().width = static_cast<int>(std::lround(static_cast<float>(width) / content_scale()));
            interface_.layout().height = static_cast<int>(std::lround(static_cast<float>(height) / content_scale()));
        }
        if (interface_.layout() == remembered_ || ImGui::IsAnyMouseDown()) return;
        remembered_ = interface_.layout();
        actions_.push_back(action::SetLayout{remembered_});
    }

    GlfwLibrary library_;
    GLFWwindow* handle_ = nullptr;
    std::unique_ptr<ImGuiSession> session_;
    Interface interface_;
    WindowLayout remembered_;
    Actions actions_;

    mutable std::atomic<bool> woken_{false};
    bool state_changed_ = false;
    int frames_due_ = 0;
    double last_frame_ = 0;
    double wake_interval_ = kFrameSeconds;
    double timer_ = kForever;
    double settle_from_ = 0;
    size_t settle_step_ = std::size(kSettleTimes);
};

}  // namespace

Result<std::unique_ptr<Window>> Window::open(const WindowLayout& layout) { return GlfwWindow::open(layout); }

}  // namespace octavo
