#include "tests/support/forked_child_platform.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace octavo {

ForkedChild::ForkedChild(const std::function<void(const Say&)>& work) {
    int ends[2];
    if (pipe(ends) != 0) return;
    process_ = fork();
    if (process_ == 0) {
        close(ends[0]);
        work([&](std::string_view line) {
            const std::string text = std::string(line) + '\n';
            if (write(ends[1], text.data(), text.size()) < 0) _exit(1);
        });
        _exit(0);
    }
    close(ends[1]);
    pipe_ = ends[0];
}

ForkedChild::~ForkedChild() {
    if (process_ > 0) kill_now();
    if (pipe_ >= 0) close(pipe_);
}

std::string ForkedChild::next_line() {
    while (true) {
        if (const size_t end = unread_.find('\n'); end != std::string::npos) {
            std::string line = unread_.substr(0, end);
            unread_.erase(0, end + 1);
            return line;
        }
        char bytes[4096];
        const ssize_t count = read(pipe_, bytes, sizeof bytes);
        if (count <= 0) return "";
        unread_.append(bytes, static_cast<size_t>(count));
    }
}

std::vector<std::string> ForkedChild::kill_now() {
    kill(process_, SIGKILL);
    wait();
    std::vector<std::string> lines;
    for (std::string line = next_line(); !line.empty(); line = next_line()) lines.push_back(line);
    return lines;
}

void ForkedChild::wait() {
    if (process_ > 0) waitpid(process_, nullptr, 0);
    process_ = -1;
}

}  // namespace octavo
