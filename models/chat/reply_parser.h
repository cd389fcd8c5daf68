// Splits a reply, as it streams in, into what the model thinks, what it says and the tools that it calls, without the
// tags and the white space around them. This is for people's eyes: the history keeps the exact tokens (Message::ids).
//
// Calls are looked for only where tools were offered; what is marked as a call and is none, or does not end, stays
// visible as content.
//
// Text is given out as soon as it is certain: the start of what may become "</think>", and white space that may turn
// out to end the reasoning or the content, wait for what follows. Deltas joined are the whole.
//
// Threads: one at a time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/chat/dialect.h"
#include "models/chat/message.h"

namespace octavo {

struct ReplyDelta {
    std::string reasoning = {};
    std::string content = {};
    std::vector<ToolCall> calls = {};

    bool empty() const { return reasoning.empty() && content.empty() && calls.empty(); }
    void add(const ReplyDelta& next);
};

class ReplyParser {
  public:
    // `thinking` and `tools`: as in the RenderOptions of the prompt.
    ReplyParser(const ChatDialect& dialect, bool thinking, std::vector<std::string> tools = {});

    ReplyDelta feed(std::string_view text);  // whole UTF-8 characters, as StreamDecoder gives them
    ReplyDelta finish();                     // what waited, without white space at the end

    bool in_reasoning() const { return state_ == State::reasoning; }

  private:
    enum class State { start, reasoning, content, call };
    ReplyDelta advance(bool at_end);
    // Each is called in its state and true if it came to the next one.
    bool pass_start(bool at_end);
    bool pass_reasoning(ReplyDelta& delta, bool at_end);
    bool pass_content(ReplyDelta& delta, bool at_end);
    bool pass_call(ReplyDelta& delta, bool at_end);
    void add_content(ReplyDelta& delta, std::string_view text);
    // Moves waiting_ up to `end` into `out`, less white space at its start (if nothing was given out before) and end.
    void give_out(std::string& out, std::size_t end);

    State state_;
    std::vector<std::string> tools_;
    bool in_leading_space_ = true;
    bool has_content_ = false;
    bool after_call_ = false;  // content that comes now starts on a line of its own
    std::string waiting_;
    std::size_t searched_ = 0;  // a call's end does not begin before here
};

// A whole reply at once.
ReplyDelta parse_reply(const ChatDialect& dialect, bool thinking, std::string_view text,
                       const std::vector<std::string>& tools = {});

}  // namespace octavo
