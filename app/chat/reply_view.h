// Shows a reply as it comes: the text on standard output, everything else (prefill progress, figures, notes) on
// standard error. Leading white space of a reply is dropped; thinking is dimmed, and shown on a terminal only.
// On a terminal, control characters in a reply are not passed on: a document could smuggle in commands to it.
//
// Threads: one.
#pragma once

#include <chrono>
#include <string>

#include "app/chat/conversation.h"
#include "app/terminal/terminal_platform.h"

namespace octavo {

std::string without_leading_space(const std::string& text);

// "reused 0 of 31 tokens, prefilled 31 at 1,200 tok/s, decoded 12 at 310 tok/s", and the report's note.
std::string figures_line(const GenerationReport& report);

class ReplyView : public ReplyWatcher {
  public:
    // `quiet`: nothing on standard output.
    explicit ReplyView(bool quiet);

    void on_progress(const GenerationProgress& progress) override;
    void on_delta(const GenerationDelta& delta) override;
    bool stop_wanted() override { return stop_wanted_ |= interrupts_.take(); }

    void begin();                                              // before each reply
    void end(const GenerationReport& report, bool saved);      // after it; `saved`: also in the store
    void say(const std::string& line, bool dim = true) const;  // on standard error
    void result(const std::string& text) const;                // on standard output

  private:
    void show_reasoning(const std::string& text);
    void show_text(std::string text);
    void erase_progress();
    static std::string for_terminal(const std::string& text);

    InterruptWatch interrupts_;
    bool quiet_;
    bool output_is_terminal_;
    bool error_is_terminal_;
    bool stop_wanted_ = false;
    bool text_started_ = false;
    bool reasoning_started_ = false;
    bool progress_shown_ = false;
    bool last_was_newline_ = true;
    std::chrono::steady_clock::time_point started_;
    std::chrono::steady_clock::time_point progress_time_;
};

}  // namespace octavo
