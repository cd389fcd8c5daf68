// Where a chat's inputs come from: a person at a terminal, or lines of standard input.
//
// One line is one input. A line that begins with three quotation marks opens an input of several lines, which ends at
// the next three. A block, and pasted lines, are a message even where they begin with '/' (which is doubled then, as
// ChatRunner wants it).
//
// Threads: one.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace octavo {

class ChatInput {
  public:
    virtual ~ChatInput() = default;
    // Empty optional: the input has ended. `draft` is put before what a person types.
    virtual std::optional<std::string> next(const std::string& draft) = 0;
};

std::unique_ptr<ChatInput> make_terminal_input();
std::unique_ptr<ChatInput> make_piped_input();

}  // namespace octavo
