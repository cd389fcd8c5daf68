// A copy of the test's own process that does some work until it is killed.
//
// Threads: the test must have no others when it makes one.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace octavo {

class ForkedChild {
  public:
    using Say = std::function<void(std::string_view line)>;
    // Runs work(say) in the child; it ends when `work` returns.
    explicit ForkedChild(const std::function<void(const Say&)>& work);
    ~ForkedChild();
    ForkedChild(const ForkedChild&) = delete;
    ForkedChild& operator=(const ForkedChild&) = delete;

    // Waits for the next line that the child says; empty at its end.
    std::string next_line();
    // SIGKILL: returns when the child is gone. Gives the lines that were not read yet.
    std::vector<std::string> kill_now();
    // Waits for the child's own end.
    void wait();

  private:
    int process_ = -1;
    int pipe_ = -1;
    std::string unread_;
};

}  // namespace octavo
