#include "tests/support/process_platform.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <thread>

namespace octavo {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void become(const std::vector<std::string>& command) {
    std::vector<char*> arguments;
    for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    execv(arguments[0], arguments.data());
    _exit(127);
}

// -1 while it runs.
int poll_exit(pid_t process) {
    int status = 0;
    if (waitpid(process, &status, WNOHANG) != process) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int wait_exit(pid_t process, Clock::time_point deadline) {
    while (true) {
        const int code = poll_exit(process);
        if (code >= 0) return code;
        if (Clock::now() > deadline) {
            kill(process, SIGKILL);
            waitpid(process, nullptr, 0);
            return -1;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
}

// Closes `descriptor` at the end of the stream.
void read_into(int& descriptor, std::string& text) {
    std::array<char, 65536> bytes;
    const ssize_t count = read(descriptor, bytes.data(), bytes.size());
    if (count > 0) {
        text.append(bytes.data(), static_cast<size_t>(count));
    } else if (count == 0 || errno != EINTR) {
        close(descriptor);
        descriptor = -1;
    }
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& command, const std::string& input,
                          std::chrono::seconds limit) {
    int in[2], out[2], err[2];
    ProcessResult result;
    if (pipe(in) != 0 || pipe(out) != 0 || pipe(err) != 0) return result;
    const pid_t process = fork();
    if (process < 0) return result;
    if (process == 0) {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        dup2(err[1], STDERR_FILENO);
        for (const int end : {in[0], in[1], out[0], out[1], err[0], err[1]}) close(end);
        become(command);
    }
    close(in[0]);
    close(out[1]);
    close(err[1]);
    // Tests hand over no more than a pipe holds or what the program reads at once; a writer thread keeps it general.
    std::thread writer([&input, descriptor = in[1]] {
        signal(SIGPIPE, SIG_IGN);
        size_t sent = 0;
        while (sent < input.size()) {
            const ssize_t count = write(descriptor, input.data() + sent, input.size() - sent);
            if (count <= 0) break;
            sent += static_cast<size_t>(count);
        }
        close(descriptor);
    });
    const auto deadline = Clock::now() + limit;
    while ((out[0] >= 0 || err[0] >= 0) && Clock::now() < deadline) {
        pollfd watched[] = {{out[0], POLLIN, 0}, {err[0], POLLIN, 0}};
        poll(watched, 2, 100);
        if (out[0] >= 0 && watched[0].revents != 0) read_into(out[0], result.output);
        if (err[0] >= 0 && watched[1].revents != 0) read_into(err[0], result.errors);
    }
    result.exit_code = wait_exit(process, deadline);
    for (const int end : {out[0], err[0]})
        if (end >= 0) close(end);
    writer.join();
    return result;
}

TerminalProcess::TerminalProcess(const std::vector<std::string>& command) {
    winsize size{};
    size.ws_col = 80;
    size.ws_row = 24;
    process_ = forkpty(&terminal_, nullptr, nullptr, &size);
    if (process_ == 0) become(command);
}

TerminalProcess::~TerminalProcess() {
    if (process_ > 0) {
        kill(process_, SIGKILL);
        waitpid(process_, nullptr, 0);
    }
    if (terminal_ >= 0) close(terminal_);
}

void TerminalProcess::type(const std::string& keys) {
    size_t sent = 0;
    while (sent < keys.size()) {
        const ssize_t count = write(terminal_, keys.data() + sent, keys.size() - sent);
        if (count <= 0) return;
        sent += static_cast<size_t>(count);
    }
}

void TerminalProcess::send_terminate() const { kill(process_, SIGTERM); }

bool TerminalProcess::echoes() const {
    termios mode{};
    return tcgetattr(terminal_, &mode) == 0 && (mode.c_lflag & ECHO) != 0;
}

bool TerminalProcess::read_some(std::chrono::milliseconds limit) {
    pollfd watched{terminal_, POLLIN, 0};
    if (poll(&watched, 1, static_cast<int>(limit.count())) <= 0) return false;
    std::array<char, 65536> bytes;
    const ssize_t count = read(terminal_, bytes.data(), bytes.size());
    if (count > 0) seen_.append(bytes.data(), static_cast<size_t>(count));
    return count > 0;
}

bool TerminalProcess::wait_for(const std::string& text, std::chrono::seconds limit) {
    const auto deadline = Clock::now() + limit;
    while (true) {
        const size_t found = seen_.find(text, searched_);
        if (found != std::string::npos) {
            searched_ = found + text.size();
            return true;
        }
        if (Clock::now() > deadline) return false;
        read_some(std::chrono::milliseconds(100));
    }
}

int TerminalProcess::exit_code(std::chrono::seconds limit) {
    const auto deadline = Clock::now() + limit;
    while (Clock::now() < deadline) {
        read_some(std::chrono::milliseconds(50));
        const int code = poll_exit(process_);
        if (code >= 0) {
            process_ = -1;
            return code;
        }
    }
    return -1;
}

}  // namespace octavo
