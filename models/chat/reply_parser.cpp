#include "models/chat/reply_parser.h"

#include <algorithm>
#include <optional>

#include "models/chat/call_parser.h"
#include "models/chat/text_trim.h"

namespace octavo {
namespace {

constexpr std::string_view think_open = "<think>";
constexpr std::string_view think_close = "</think>";
constexpr std::string_view call_open = "<tool_call>";
constexpr std::string_view call_close = "</tool_call>";

// Where a tag that the text may still be in the middle of starts; the text's size if nowhere.
std::size_t start_of_unfinished(std::string_view text, std::string_view tag) {
    for (std::size_t length = std::min(text.size(), tag.size() - 1); length > 0; --length)
        if (tag.starts_with(text.substr(text.size() - length))) return text.size() - length;
    return text.size();
}

}  // namespace

void ReplyDelta::add(const ReplyDelta& next) {
    reasoning += next.reasoning;
    content += next.content;
    calls.insert(calls.end(), next.calls.begin(), next.calls.end());
}

ReplyParser::ReplyParser(const ChatDialect& dialect, bool thinking, std::vector<std::string> tools)
    : state_(dialect.starts_in_reasoning(thinking) ? State::reasoning
             : dialect.thinking                    ? State::start
                                                   : State::content),
      tools_(std::move(tools)) {}

ReplyDelta ReplyParser::feed(std::string_view text) {
    waiting_ += text;
    return advance(false);
}

ReplyDelta ReplyParser::finish() { return advance(true); }

ReplyDelta ReplyParser::advance(bool at_end) {
    ReplyDelta delta;
    for (bool passed = true; passed;) {
        switch (state_) {
            case State::start: passed = pass_start(at_end); break;
            case State::reasoning: passed = pass_reasoning(delta, at_end); break;
            case State::content: passed = pass_content(delta, at_end); break;
            case State::call: passed = pass_call(delta, at_end); break;
        }
    }
    return delta;
}

// A dialect with thinking whose prompt opened no block: the model may open one itself, at the very start.
bool ReplyParser::pass_start(bool at_end) {
    const std::string_view text = trim_left(waiting_);
    if (!at_end && text.size() < think_open.size() && think_open.starts_with(text)) return false;
    const bool opens = text.starts_with(think_open);
    if (opens) waiting_.erase(0, waiting_.size() - text.size() + think_open.size());
    state_ = opens ? State::reasoning : State::content;
    return true;
}

bool ReplyParser::pass_reasoning(ReplyDelta& delta, bool at_end) {
    const std::size_t close = waiting_.find(think_close);
    if (close == std::string::npos) {
        give_out(delta.reasoning, at_end ? waiting_.size() : start_of_unfinished(waiting_, think_close));
        return false;
    }
    give_out(delta.reasoning, close);
    waiting_.erase(0, waiting_.find(think_close) + think_close.size());
    state_ = State::content;
    in_leading_space_ = true;
    return true;
}

bool ReplyParser::pass_content(ReplyDelta& delta, bool at_end) {
    const std::size_t call = tools_.empty() ? std::string::npos : waiting_.find(call_open);
    const bool whole = at_end || tools_.empty();
    std::string content;
    give_out(content, call != std::string::npos ? call
                      : whole                   ? waiting_.size()
                                                : start_of_unfinished(waiting_, call_open));
    add_content(delta, content);
    if (call == std::string::npos) return false;
    waiting_.erase(0, waiting_.find(call_open));
    state_ = State::call;
    searched_ = call_open.size();
    return true;
}

// waiting_ starts with the tag that opens the call.
bool ReplyParser::pass_call(ReplyDelta& delta, bool at_end) {
    const std::size_t close = waiting_.find(call_close, searched_);
    if (close == std::string::npos && !at_end) {
        searched_ = std::max(call_open.size(), waiting_.size() - std::min(waiting_.size(), call_close.size() - 1));
        return false;
    }
    const std::size_t end = close == std::string::npos ? waiting_.size() : close + call_close.size();
    const std::string_view inside = std::string_view(waiting_).substr(call_open.size(), close - call_open.size());
    std::optional<ToolCall> call = close == std::string::npos ? std::nullopt : parse_tool_call(inside, tools_);
    after_call_ = true;
    if (call) {
        delta.calls.push_back(std::move(*call));
    } else {
        add_content(delta, trim_right(std::string_view(waiting_).substr(0, end)));
        after_call_ = true;
    }
    waiting_.erase(0, end);
    state_ = State::content;
    in_leading_space_ = true;
    return true;
}

void ReplyParser::add_content(ReplyDelta& delta, std::string_view text) {
    if (text.empty()) return;
    if (after_call_ && has_content_) delta.content += '\n';
    delta.content += text;
    has_content_ = true;
    after_call_ = false;
}

void ReplyParser::give_out(std::string& out, std::size_t end) {
    std::string_view text = std::string_view(waiting_).substr(0, end);
    if (in_leading_space_) text = trim_left(text);
    const std::size_t skipped = std::min(end, waiting_.size()) - text.size();
    text = trim_right(text);
    if (!text.empty()) in_leading_space_ = false;
    out += text;
    waiting_.erase(0, skipped + text.size());
}

ReplyDelta parse_reply(const ChatDialect& dialect, bool thinking, std::string_view text,
                       const std::vector<std::string>& tools) {
    ReplyParser parser(dialect, thinking, tools);
    ReplyDelta whole = parser.feed(text);
    whole.add(parser.finish());
    return whole;
}

}  // namespace octavo
