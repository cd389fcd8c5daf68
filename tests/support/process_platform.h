// Other programs, run from tests: with pipes, or at a terminal of their own.
//
// Threads: one test uses a process at a time.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace octavo {

struct ProcessResult {
    int exit_code = -1;  // -1: it could not be started or did not end in time; 128 + n: ended by signal n
    std::string output;  // standard output
    std::string errors;  // standard error
};

// Runs `command` (program first) with `input` as standard input.
ProcessResult run_process(const std::vector<std::string>& command, const std::string& input = "",
                          std::chrono::seconds limit = std::chrono::seconds(120));

// A program at a terminal of 80 columns.
class TerminalProcess {
  public:
    explicit TerminalProcess(const std::vector<std::string>& command);
    ~TerminalProcess();  // ends it where it still runs
    TerminalProcess(const TerminalProcess&) = delete;
    TerminalProcess& operator=(const TerminalProcess&) = delete;

    void type(const std::string& keys);
    void send_terminate() const;  // SIGTERM
    bool echoes() const;          // whether the terminal shows what is typed
    // Waits until `text` has appeared since the last successful wait; what came with it is in seen().
    bool wait_for(const std::string& text, std::chrono::seconds limit = std::chrono::seconds(60));
    const std::string& seen() const { return seen_; }  // everything so far
    // Waits for the end; -1 when it does not come in time.
    int exit_code(std::chrono::seconds limit = std::chrono::seconds(30));

  private:
    bool read_some(std::chrono::milliseconds limit);

    int terminal_ = -1;
    int process_ = -1;
    size_t searched_ = 0;
    std::string seen_;
};

}  // namespace octavo
