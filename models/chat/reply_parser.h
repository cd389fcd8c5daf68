// Splits a reply, as it streams in, into what the model thinks and what it says, without the tags and the white space
// around the two. This is for people's eyes: the history keeps the exact tokens (Message::ids).
//
// Text is given out as soon as it is certain: the start of what may become "</think>", and white space that may turn
// out to end the reasoning or the content, wait for what follows. Deltas joined are the whole.
//
// Threads: one at a time.
#pragma once

#include <string>
#include <string_view>

#include "models/chat/chat_template.h"

namespace octavo {

struct ReplyDelta {
    std::string reasoning;
    std::string content;
};

class ReplyParser {
  public:
    // `thinking`: RenderOptions::thinking of the prompt.
    ReplyParser(const ChatDialect& dialect, bool thinking);

    ReplyDelta feed(std::string_view text);  // whole UTF-8 characters, as StreamDecoder gives them
    ReplyDelta finish();                     // what waited, without white space at the end

    bool in_reasoning() const { return state_ == State::reasoning; }

  private:
    enum class State { start, reasoning, content };
    ReplyDelta advance(bool at_end);
    // Moves waiting_ up to `end` into `out`, less white space at its start (if nothing was given out before) and end.
    void give_out(std::string& out, std::size_t end);

    State state_;
    bool in_leading_space_ = true;
    std::string waiting_;
};

// A whole reply at once.
ReplyDelta parse_reply(const ChatDialect& dialect, bool thinking, std::string_view text);

}  // namespace octavo
