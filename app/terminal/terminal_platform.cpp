#include "app/terminal/terminal_platform.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <iterator>

namespace octavo {
namespace {

// A signal handler reaches nothing but static storage.
volatile sig_atomic_t g_interrupted = 0;

void note_interrupt(int) { g_interrupted = 1; }

termios g_mode_before{};  // of RawMode
constexpr int kEndingSignals[] = {SIGHUP, SIGTERM, SIGQUIT};

void restore_terminal_and_end(int signal) {
    constexpr char paste_off[] = "\x1b[?2004l";
    [[maybe_unused]] const ssize_t written = write(STDOUT_FILENO, paste_off, sizeof paste_off - 1);
    tcsetattr(STDIN_FILENO, TCSANOW, &g_mode_before);
    raise(signal);  // SA_RESETHAND: the usual end, once this handler returns
}

using EndingActions = struct sigaction[std::size(kEndingSignals)];

void set_ending_signals(const struct sigaction& action, EndingActions& before) {
    for (size_t i = 0; i < std::size(kEndingSignals); ++i) {
        sigaction(kEndingSignals[i], &action, &before[i]);
        if (before[i].sa_handler == SIG_IGN)  // as nohup wants it
            sigaction(kEndingSignals[i], &before[i], nullptr);
    }
}

void restore_ending_signals(const EndingActions& before) {
    for (size_t i = 0; i < std::size(kEndingSignals); ++i) sigaction(kEndingSignals[i], &before[i], nullptr);
}

int descriptor(Stream stream) {
    switch (stream) {
        case Stream::input: return STDIN_FILENO;
        case Stream::output: return STDOUT_FILENO;
        case Stream::error: return STDERR_FILENO;
    }
    return STDERR_FILENO;
}

}  // namespace

bool is_terminal(Stream stream) { return isatty(descriptor(stream)) == 1; }

bool is_piped(Stream stream) {
    struct stat status {};
    return fstat(descriptor(stream), &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISREG(status.st_mode));
}

int terminal_columns() {
    winsize size{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 10) return 80;
    return size.ws_col;
}

struct RawMode::Saved {
    termios mode;
    EndingActions actions;
};

RawMode::RawMode() : saved_(nullptr) {
    termios mode{};
    if (tcgetattr(STDIN_FILENO, &mode) != 0) return;
    saved_ = new Saved{mode, {}};
    g_mode_before = mode;
    struct sigaction action {};
    action.sa_handler = restore_terminal_and_end;
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESETHAND;
    set_ending_signals(action, saved_->actions);
    set_interrupt_is_key(false);
}

void RawMode::set_interrupt_is_key(bool is_key) {
    if (saved_ == nullptr) return;
    termios mode = saved_->mode;
    mode.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON | IEXTEN | (is_key ? ISIG : 0));
    mode.c_iflag &= ~static_cast<tcflag_t>(IXON | ICRNL | INLCR);
    mode.c_cc[VMIN] = 1;
    mode.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &mode);
}

RawMode::~RawMode() {
    if (saved_ == nullptr) return;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &saved_->mode);
    restore_ending_signals(saved_->actions);
    delete saved_;
}

std::string read_input_bytes() {
    std::string bytes(65536, '\0');
    while (true) {
        const ssize_t count = read(STDIN_FILENO, bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR) continue;
        bytes.resize(count > 0 ? static_cast<size_t>(count) : 0);
        return bytes;
    }
}

std::string read_waiting_input_bytes() {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    return poll(&input, 1, 0) > 0 && (input.revents & POLLIN) != 0 ? read_input_bytes() : std::string();
}

struct InterruptWatch::Saved {
    struct sigaction interrupt;
    bool watches_end = false;
    EndingActions end;
};

InterruptWatch::InterruptWatch(Signals signals) : saved_(new Saved{}) {
    g_interrupted = 0;
    struct sigaction action {};
    action.sa_handler = note_interrupt;
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART;
    sigaction(SIGINT, &action, &saved_->interrupt);
    saved_->watches_end = signals == Signals::interrupt_and_end;
    if (!saved_->watches_end) return;
    action.sa_flags = SA_RESTART | SA_RESETHAND;
    set_ending_signals(action, saved_->end);
}

InterruptWatch::~InterruptWatch() {
    sigaction(SIGINT, &saved_->interrupt, nullptr);
    if (saved_->watches_end) restore_ending_signals(saved_->end);
    delete saved_;
}

void InterruptWatch::note() { g_interrupted = 1; }

bool InterruptWatch::take() {
    const bool interrupted = g_interrupted != 0;
    g_interrupted = 0;
    return interrupted;
}

}  // namespace octavo
