#include "app/desktop/running_reply.h"

#include <fmt/format.h>

#include <utility>

#include "app/size_text.h"
#include "app/store/reply_figures.h"

namespace octavo {
namespace {

double rate(int64_t tokens, double seconds) { return seconds > 0 ? static_cast<double>(tokens) / seconds : 0; }

std::string stop_note(const GenerationReport& report) {
    if (!report.note.empty()) return report.note;
    switch (report.stop) {
        case StopReason::end_of_turn: return "";
        case StopReason::max_tokens:
            return fmt::format("Stopped at the limit of {} tokens.",
                               group_digits(static_cast<int64_t>(report.ids.size())));
        case StopReason::context_full: return "The context is full.";
        case StopReason::cancelled: return report.ids.empty() ? "Stopped before the first word." : "Stopped.";
    }
    return "";
}

}  // namespace

RunningReply::RunningReply(int64_t conversation, int64_t message, bool with_thinking, ReplyPart begun)
    : conversation_(conversation), message_(message), begun_(std::move(begun)) {
    reply_.with_thinking = with_thinking;
    reply_.text = begun_.text;
    reply_.thinking = begun_.thinking;
    reply_.ids = begun_.ids;
}

ReplyPart RunningReply::add(const GenerationDelta& delta, int64_t now_ms) {
    if (!delta.reasoning.empty() && thinking_start_ms_ == 0) thinking_start_ms_ = now_ms;
    if (!delta.text.empty() && thinking_start_ms_ != 0 && thinking_end_ms_ == 0) thinking_end_ms_ = now_ms;
    reply_.text += delta.text;
    reply_.thinking += delta.reasoning;
    reply_.ids.insert(reply_.ids.end(), delta.ids.begin(), delta.ids.end());
    return {delta.text, delta.reasoning, delta.ids};
}

FinishedReply RunningReply::finish(const Result<GenerationReport>& report, const std::string& model, int64_t now_ms) {
    ReplyFigures& figures = reply_.figures;
    if (!report) {
        figures.model = model;
        figures.note = report.error().message;
        reply_.state = MessageState::failed;
    } else {
        figures = figures_of(*report, model);
        figures.note = stop_note(*report);
        reply_.state = report->stop == StopReason::end_of_turn ? MessageState::complete : MessageState::stopped;
        reply_.text = begun_.text + report->text;
        reply_.thinking = begun_.thinking + report->reasoning;
        reply_.ids = begun_.ids;
        reply_.ids.insert(reply_.ids.end(), report->ids.begin(), report->ids.end());
    }
    figures.thinking_seconds = thinking_seconds(now_ms);
    return reply_;
}

MessagePhase RunningReply::phase() const {
    switch (progress_.phase) {
        case GenerationPhase::queued: return MessagePhase::queued;
        case GenerationPhase::prefill: return MessagePhase::prefilling;
        case GenerationPhase::decode:
        case GenerationPhase::finished: break;
    }
    return thinking_start_ms_ != 0 && thinking_end_ms_ == 0 ? MessagePhase::thinking : MessagePhase::writing;
}

int64_t RunningReply::held_tokens() const { return progress_.processed_tokens + progress_.generated_tokens; }

double RunningReply::thinking_seconds(int64_t now_ms) const {
    if (thinking_start_ms_ == 0) return 0;
    const int64_t end = thinking_end_ms_ != 0 ? thinking_end_ms_ : now_ms;
    return static_cast<double>(end - thinking_start_ms_) / 1000.0;
}

void RunningReply::fill(EngineState& state) const {
    const bool decoding = progress_.phase == GenerationPhase::decode || progress_.phase == GenerationPhase::finished;
    state.phase = decoding ? EnginePhase::decoding : EnginePhase::prefilling;
    state.done = decoding ? progress_.generated_tokens : progress_.processed_tokens;
    state.total = decoding ? 0 : progress_.prompt_tokens;
    state.reused_tokens = progress_.reused_tokens;
    state.tokens_per_s = progress_.tokens_per_s;
    state.stopping = stopping_;
    if (!decoding && progress_.tokens_per_s > 0)
        state.seconds_left =
            static_cast<double>(progress_.prompt_tokens - progress_.processed_tokens) / progress_.tokens_per_s;
}

ReplyFiguresView figures_view(const ReplyFigures& figures) {
    ReplyFiguresView view;
    view.prompt_tokens = figures.prompt_tokens;
    view.reused_tokens = figures.reused_tokens;
    view.prefilled_tokens = figures.prefilled_tokens;
    view.prefill_tokens_per_s = rate(figures.prefilled_tokens, figures.prefill_seconds);
    view.decoded_tokens = figures.generated_tokens;
    view.decode_tokens_per_s = rate(figures.generated_tokens, figures.decode_seconds);
    view.scheme = figures.scheme;
    if (figures.window > 0 || figures.sinks > 0)
        view.scheme += fmt::format(", window {}, sinks {}", figures.window, figures.sinks);
    view.device = figures.device;
    return view;
}

}  // namespace octavo
