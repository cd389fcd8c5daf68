#include "runtime/reply.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "kernels/base/memory_error.h"
#include "models/chat/reply_parser.h"

namespace octavo {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double rate(int64_t tokens, double seconds) {
    return tokens > 0 && seconds > 0 ? static_cast<double>(tokens) / seconds : 0;
}

std::string context_full_note(const Session& session, int64_t prompt_tokens) {
    return fmt::format(
        "The context of {} tokens is full ({} of prompt, {} of reply), so the reply stops here; raise the "
        "context length to go on.",
        session.context_length(), prompt_tokens, session.position() - prompt_tokens);
}

std::string refused_checkpoints_note(const Session& session, int64_t refused) {
    return fmt::format(
        "{} of this prompt's checkpoints found no room (their budget is {}): going back to an earlier message may read "
        "more of it again.",
        refused, format_bytes(static_cast<uint64_t>(session.checkpoints().budget_bytes())));
}

// Tokens to text, for the watcher and for the report. A reply to messages is split into thinking and content; a reply
// to bare ids is all content, as it comes.
class ReplyText {
  public:
    ReplyText(const Model& model, const GenerateRequest& request, GenerationWriter& writer, GenerationReport& report)
        : tokenizer_(model.tokenizer.get()), writer_(&writer), report_(&report) {
        if (tokenizer_ != nullptr) decoder_.emplace(*tokenizer_);
        const auto* chat = std::get_if<ChatPrompt>(&request.prompt);
        if (chat != nullptr && model.chat) parser_.emplace(model.chat->dialect(), chat->thinking, chat->tools);
    }

    bool ends_turn(int32_t id) const {
        if (tokenizer_ == nullptr) return false;
        const std::vector<int32_t>& stops = tokenizer_->stop_ids();
        return std::find(stops.begin(), stops.end(), id) != stops.end();
    }
    void feed(int32_t id) {
        report_->ids.push_back(id);
        writer_->emit(id);
        if (decoder_) add(split(decoder_->feed(id)));
    }
    void finish() {
        if (decoder_) add(split(decoder_->finish()));
        if (parser_) add(parser_->finish());
    }

  private:
    ReplyDelta split(std::string text) {
        if (parser_) return parser_->feed(text);
        return {.content = std::move(text)};
    }
    void add(const ReplyDelta& delta) {
        report_->text += delta.content;
        report_->reasoning += delta.reasoning;
        report_->calls.insert(report_->calls.end(), delta.calls.begin(), delta.calls.end());
        writer_->emit_text(delta.content, delta.reasoning);
    }

    const Tokenizer* tokenizer_;
    GenerationWriter* writer_;
    GenerationReport* report_;
    std::optional<StreamDecoder> decoder_;
    std::optional<ReplyParser> parser_;
};

// Samples and decodes; the session holds the prompt and its logits.
Result<StopReason> write_tokens(Session& session, const GenerateRequest& request, Job& job, ReplyText& text) {
    Sampler sampler(request.sampler);
    Result<int32_t> id = sampler.sample(session.logits(), session.tokens());
    for (int64_t count = 0;;) {
        if (!id) return id.error();
        if (job.cancelled()) return StopReason::cancelled;
        if (text.ends_turn(*id)) return StopReason::end_of_turn;
        text.feed(*id);
        if (++count == request.max_tokens) return StopReason::max_tokens;
        if (session.position() == session.context_length()) return StopReason::context_full;
        id = session.decode_and_sample(*id, sampler);
    }
}

}  // namespace

Result<GenerationReport> write_reply(const Model& model, Session& session, const PreparedPrompt& prompt,
                                     const GenerateRequest& request, GenerationWriter& writer) {
    const Clock::time_point start = Clock::now();
    writer.start_prefill(static_cast<int64_t>(prompt.ids.size()), session.reusable_prefix(prompt.ids));
    Result<PrefillReport> prefill = session.prefill(prompt.ids, prompt.anchors, writer.job());
    if (!prefill) return prefill.error();

    GenerationReport report;
    report.prompt_tokens = prefill->prompt_tokens;
    report.reused_tokens = prefill->reused_tokens;
    report.prefilled_tokens = prefill->prefilled_tokens;
    report.prefill_seconds = prefill->seconds;
    report.prefill_tokens_per_s = rate(prefill->prefilled_tokens, prefill->seconds);
    report.stop = StopReason::cancelled;
    if (prefill->cancelled) return report;

    writer.start_decode();
    const Clock::time_point decode_start = Clock::now();
    ReplyText text(model, request, writer, report);
    Result<StopReason> stop = write_tokens(session, request, writer.job(), text);
    if (!stop) return stop.error();
    if (Status status = session.fetch_logits(); !status) return status.error();
    text.finish();
    report.stop = *stop;
    report.decode_seconds = seconds_since(decode_start);
    // The first token comes out of the prefill; alone it says nothing about decode.
    if (report.ids.size() > 1)
        report.decode_tokens_per_s = rate(static_cast<int64_t>(report.ids.size()), report.decode_seconds);
    report.total_seconds = seconds_since(start);
    if (*stop == StopReason::context_full) {
        report.note = context_full_note(session, report.prompt_tokens);
    } else if (prefill->checkpoints_refused > 0) {
        report.note = refused_checkpoints_note(session, prefill->checkpoints_refused);
    }
    return report;
}

}  // namespace octavo
