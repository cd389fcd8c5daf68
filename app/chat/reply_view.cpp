#include "app/chat/reply_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "app/size_text.h"

namespace octavo {
namespace {

using std::chrono::steady_clock;

constexpr const char* kDim = "\x1b[2m";
constexpr const char* kPlain = "\x1b[0m";
constexpr std::chrono::milliseconds kProgressDelay{400};  // short prompts show none
constexpr std::chrono::milliseconds kProgressInterval{150};

void put(std::FILE* stream, const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stream);
    std::fflush(stream);
}

std::string rate_text(double tokens_per_s) { return group_digits(std::llround(tokens_per_s)); }

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

}  // namespace

std::string without_leading_space(const std::string& text) {
    return {std::find_if_not(text.begin(), text.end(), is_space), text.end()};
}

std::string figures_line(const GenerationReport& report) {
    std::string line = fmt::format("reused {} of {} tokens, prefilled {}", group_digits(report.reused_tokens),
                                   group_digits(report.prompt_tokens), group_digits(report.prefilled_tokens));
    if (report.prefilled_tokens > 0) line += fmt::format(" at {} tok/s", rate_text(report.prefill_tokens_per_s));
    line += fmt::format(", decoded {}", group_digits(static_cast<int64_t>(report.ids.size())));
    const bool has_rate = report.ids.size() > 1;  // the first token comes out of the prefill
    if (has_rate) line += fmt::format(" at {} tok/s", rate_text(report.decode_tokens_per_s));
    return line;
}

ReplyView::ReplyView(bool quiet)
    : quiet_(quiet), output_is_terminal_(is_terminal(Stream::output)), error_is_terminal_(is_terminal(Stream::error)) {}

void ReplyView::begin() {
    stop_wanted_ = text_started_ = reasoning_started_ = progress_shown_ = false;
    last_was_newline_ = true;
    started_ = progress_time_ = steady_clock::now();
}

void ReplyView::on_progress(const GenerationProgress& progress) {
    if (progress.phase != GenerationPhase::prefill || !error_is_terminal_) return;
    const auto now = steady_clock::now();
    if (now - started_ < kProgressDelay || now - progress_time_ < kProgressInterval) return;
    progress_time_ = now;
    progress_shown_ = true;
    std::string line = fmt::format("reading {} of {} tokens", group_digits(progress.processed_tokens),
                                   group_digits(progress.prompt_tokens));
    if (progress.tokens_per_s > 0)
        line += fmt::format(
            " at {} tok/s, {:.0f} s left", rate_text(progress.tokens_per_s),
            static_cast<double>(progress.prompt_tokens - progress.processed_tokens) / progress.tokens_per_s);
    put(stderr, fmt::format("\r\x1b[K{}{}{}", kDim, line, kPlain));
}

void ReplyView::on_delta(const GenerationDelta& delta) {
    if (!delta.reasoning.empty()) show_reasoning(delta.reasoning);
    if (!delta.text.empty()) show_text(delta.text);
}

void ReplyView::show_reasoning(const std::string& text) {
    if (quiet_ || !output_is_terminal_) return;
    const std::string shown = reasoning_started_ ? text : without_leading_space(text);
    if (shown.empty()) return;
    erase_progress();
    reasoning_started_ = true;
    put(stdout, kDim + for_terminal(shown) + kPlain);
    last_was_newline_ = shown.back() == '\n';
}

void ReplyView::show_text(std::string text) {
    if (!text_started_) text = without_leading_space(text);
    if (text.empty() || quiet_) return;
    erase_progress();
    if (!text_started_ && reasoning_started_) put(stdout, last_was_newline_ ? "\n" : "\n\n");
    text_started_ = true;
    last_was_newline_ = text.back() == '\n';
    put(stdout, output_is_terminal_ ? for_terminal(text) : text);
}

void ReplyView::end(const GenerationReport& report, bool saved) {
    erase_progress();
    if (!quiet_ && !last_was_newline_) put(stdout, "\n");
    for (const ToolCall& call : report.calls) result(fmt::format("tool call: {} {}\n", call.name, call.arguments));
    if (report.stop == StopReason::cancelled)
        say(!report.ids.empty() ? "stopped"
                                : fmt::format("stopped before the reply: the message was taken back{}",
                                              saved ? "; the saved conversation keeps it" : ""));
    else if (report.stop == StopReason::max_tokens)
        say(fmt::format("stopped at {} tokens, as -n says", report.ids.size()));
    if (!report.note.empty()) say(report.note, false);
    say(figures_line(report));
}

void ReplyView::say(const std::string& line, bool dim) const {
    put(stderr, error_is_terminal_ && dim ? kDim + line + kPlain + "\n" : line + "\n");
}

void ReplyView::result(const std::string& text) const {
    if (!quiet_) put(stdout, text);
}

void ReplyView::erase_progress() {
    if (progress_shown_) put(stderr, "\r\x1b[K");
    progress_shown_ = false;
}

std::string ReplyView::for_terminal(const std::string& text) {
    const auto is_control = [&text](size_t at) {  // of one byte, or U+0080 to U+009F in two
        const auto byte = static_cast<unsigned char>(text[at]);
        if (byte == 0xc2 && at + 1 < text.size()) return static_cast<unsigned char>(text[at + 1]) < 0xa0;
        return byte == 0x7f || (byte < 0x20 && byte != '\n' && byte != '\t');
    };
    std::string safe;
    for (size_t at = 0; at < text.size(); ++at) {
        if (!is_control(at))
            safe += text[at];
        else if (static_cast<unsigned char>(text[at]) == 0xc2)
            ++at;
    }
    return safe;
}

}  // namespace octavo
