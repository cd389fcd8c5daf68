#include "runtime/generation.h"

#include <algorithm>
#include <utility>

#include "runtime/generation_writer.h"

namespace octavo {
namespace {

double rate(int64_t tokens, std::chrono::steady_clock::time_point start) {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return tokens > 0 && seconds > 0 ? static_cast<double>(tokens) / seconds : 0;
}

}  // namespace

std::string_view stop_reason_name(StopReason reason) {
    switch (reason) {
        case StopReason::end_of_turn: return "end_of_turn";
        case StopReason::max_tokens: return "max_tokens";
        case StopReason::context_full: return "context_full";
        case StopReason::cancelled: return "cancelled";
    }
    return "";
}

GenerationProgress Generation::progress() const {
    const std::lock_guard lock(mutex_);
    GenerationProgress progress = progress_;
    if (progress.phase == GenerationPhase::prefill) {
        // Until the first report of the prefill, what is reused is all that is known.
        progress.processed_tokens = std::max(progress.reused_tokens, job_.progress().done);
        progress.tokens_per_s = rate(progress.processed_tokens - progress.reused_tokens, phase_start_);
    } else if (progress.phase == GenerationPhase::decode) {
        progress.tokens_per_s = rate(progress.generated_tokens, phase_start_);
    }
    return progress;
}

GenerationDelta Generation::take() {
    const std::lock_guard lock(mutex_);
    return take_locked();
}

GenerationDelta Generation::wait(std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, timeout, [&] { return report_.has_value() || !pending_.empty(); });
    return take_locked();
}

GenerationDelta Generation::take_locked() {
    GenerationDelta delta = std::exchange(pending_, {});
    delta.finished = report_.has_value();
    return delta;
}

bool Generation::finished() const {
    const std::lock_guard lock(mutex_);
    return report_.has_value();
}

const Result<GenerationReport>& Generation::report() const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return report_.has_value(); });
    return *report_;
}

void GenerationWriter::start_prefill(int64_t prompt_tokens, int64_t reused_tokens) {
    const std::lock_guard lock(generation_->mutex_);
    generation_->progress_.phase = GenerationPhase::prefill;
    generation_->progress_.prompt_tokens = prompt_tokens;
    generation_->progress_.reused_tokens = reused_tokens;
    generation_->phase_start_ = std::chrono::steady_clock::now();
}

void GenerationWriter::start_decode() {
    const std::lock_guard lock(generation_->mutex_);
    generation_->progress_.phase = GenerationPhase::decode;
    generation_->progress_.processed_tokens = generation_->progress_.prompt_tokens;
    generation_->phase_start_ = std::chrono::steady_clock::now();
}

void GenerationWriter::emit(int32_t id) {
    {
        const std::lock_guard lock(generation_->mutex_);
        generation_->pending_.ids.push_back(id);
        ++generation_->progress_.generated_tokens;
    }
    generation_->changed_.notify_all();
}

void GenerationWriter::emit_text(std::string_view text, std::string_view reasoning) {
    if (text.empty() && reasoning.empty()) return;
    {
        const std::lock_guard lock(generation_->mutex_);
        generation_->pending_.text += text;
        generation_->pending_.reasoning += reasoning;
    }
    generation_->changed_.notify_all();
}

void GenerationWriter::finish(Result<GenerationReport> report) {
    {
        const std::lock_guard lock(generation_->mutex_);
        GenerationProgress& progress = generation_->progress_;
        if (progress.phase == GenerationPhase::prefill) progress.processed_tokens = job().progress().done;
        progress.phase = GenerationPhase::finished;
        if (report) progress.tokens_per_s = report->decode_tokens_per_s;
        generation_->report_.emplace(std::move(report));
    }
    generation_->changed_.notify_all();
}

}  // namespace octavo
