#include "app/long_job.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <future>
#include <string>

#include "app/terminal/terminal_platform.h"

namespace octavo {
namespace {

using Clock = std::chrono::steady_clock;

std::string progress_text(std::string_view what, const Job::Progress& progress, Clock::time_point start) {
    if (progress.total <= 0 || progress.done <= 0) return fmt::format("{} ...", what);
    const double share = static_cast<double>(progress.done) / static_cast<double>(progress.total);
    const double passed = std::chrono::duration<double>(Clock::now() - start).count();
    return fmt::format("{} {:.0f}%, about {:.0f} s left", what, 100 * share, passed / share - passed);
}

// One line that is written over and over.
class ProgressLine {
  public:
    void show(const std::string& text) {
        if (!at_terminal_ || text == shown_) return;
        fmt::print(stderr, "\r{:<{}}", text, shown_.size());
        std::fflush(stderr);
        shown_ = text;
    }
    ~ProgressLine() {
        if (!shown_.empty()) fmt::print(stderr, "\r{:<{}}\r", "", shown_.size());
    }

  private:
    bool at_terminal_ = is_terminal(Stream::error);
    std::string shown_;
};

}  // namespace

void run_watched(std::string_view what, Job& job, const std::function<void()>& work) {
    const Clock::time_point start = Clock::now();
    InterruptWatch interrupts(InterruptWatch::Signals::interrupt_and_end);
    ProgressLine line;
    std::future<void> done = std::async(std::launch::async, work);
    while (done.wait_for(std::chrono::milliseconds(100)) != std::future_status::ready) {
        if (interrupts.take()) job.cancel();
        line.show(progress_text(what, job.progress(), start));
    }
    done.get();
}

}  // namespace octavo
