#include "models/chat/reply_parser.h"

#include <algorithm>

#include "models/chat/text_trim.h"

namespace octavo {
namespace {

constexpr std::string_view think_open = "<think>";
constexpr std::string_view think_close = "</think>";

// Where a tag that the text may still be in the middle of starts; the text's size if nowhere.
std::size_t start_of_unfinished(std::string_view text, std::string_view tag) {
    for (std::size_t length = std::min(text.size(), tag.size() - 1); length > 0; --length)
        if (tag.starts_with(text.substr(text.size() - length))) return text.size() - length;
    return text.size();
}

}  // namespace

ReplyParser::ReplyParser(const ChatDialect& dialect, bool thinking)
    : state_(dialect.starts_in_reasoning(thinking) ? State::reasoning
             : dialect.thinking                    ? State::start
                                                   : State::content) {}

ReplyDelta ReplyParser::feed(std::string_view text) {
    waiting_ += text;
    return advance(false);
}

ReplyDelta ReplyParser::finish() { return advance(true); }

ReplyDelta ReplyParser::advance(bool at_end) {
    ReplyDelta delta;
    if (state_ == State::start) {
        // A dialect with thinking whose prompt opened no block: the model may open one itself, at the very start.
        const std::string_view text = trim_left(waiting_);
        if (!at_end && text.size() < think_open.size() && think_open.starts_with(text)) return delta;
        if (text.starts_with(think_open)) {
            state_ = State::reasoning;
            waiting_.erase(0, waiting_.size() - text.size() + think_open.size());
        } else {
            state_ = State::content;
        }
    }
    if (state_ == State::reasoning) {
        const std::size_t close = waiting_.find(think_close);
        if (close == std::string::npos) {
            give_out(delta.reasoning, at_end ? waiting_.size() : start_of_unfinished(waiting_, think_close));
            return delta;
        }
        give_out(delta.reasoning, close);
        waiting_.erase(0, waiting_.find(think_close) + think_close.size());
        state_ = State::content;
        in_leading_space_ = true;
    }
    give_out(delta.content, waiting_.size());
    return delta;
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

ReplyDelta parse_reply(const ChatDialect& dialect, bool thinking, std::string_view text) {
    ReplyParser parser(dialect, thinking);
    ReplyDelta whole = parser.feed(text);
    const ReplyDelta rest = parser.finish();
    whole.reasoning += rest.reasoning;
    whole.content += rest.content;
    return whole;
}

}  // namespace octavo
