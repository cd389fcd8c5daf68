// One request for a reply, and the handle to watch it with: text as it streams, progress, cancel, and the report.
//
// Threads: every method of Generation may be called from any thread, at any time; none waits for the engine except
// `wait`.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/base/job.h"
#include "models/chat/chat_template.h"
#include "runtime/sampler.h"

namespace octavo {

struct ChatPrompt {
    std::vector<Message> messages;
    bool thinking = true;                 // ignored by dialects that cannot switch it
    bool keep_old_reasoning = false;      // ignored by dialects that cannot
    std::vector<std::string> tools = {};  // that the model may call; JSON each, from parse_tools
};

struct GenerateRequest {
    std::string conversation;                               // which session; made on first use
    std::variant<ChatPrompt, std::vector<int32_t>> prompt;  // messages, or token ids as they are
    SamplerOptions sampler;
    int64_t max_tokens = 0;  // 0: until the reply or the context ends
};

enum class StopReason { end_of_turn, max_tokens, context_full, cancelled };
std::string_view stop_reason_name(StopReason reason);  // "end_of_turn"

struct GenerationReport {
    std::string text;  // the reply, without thinking and calls
    std::string reasoning;
    std::vector<ToolCall> calls;  // of the tools that were offered
    // All generated tokens, without the one that ended the turn: Message::ids of this reply in the next prompt.
    std::vector<int32_t> ids;
    int64_t prompt_tokens = 0;
    int64_t reused_tokens = 0;
    int64_t prefilled_tokens = 0;
    double prefill_seconds = 0;
    double decode_seconds = 0;
    double prefill_tokens_per_s = 0;  // 0 where nothing was prefilled
    double decode_tokens_per_s = 0;
    double total_seconds = 0;
    StopReason stop = StopReason::end_of_turn;
    std::string note;  // a sentence for a person where the stop needs one (context full), else empty
    std::string scheme;
    int64_t window = 0;  // newest tokens held in FP16 too
    int64_t sinks = 0;   // first tokens likewise
    std::string device;
};

enum class GenerationPhase { queued, prefill, decode, finished };

struct GenerationProgress {
    GenerationPhase phase = GenerationPhase::queued;
    int64_t prompt_tokens = 0;
    int64_t processed_tokens = 0;  // of the prompt, reused ones included
    int64_t reused_tokens = 0;
    int64_t generated_tokens = 0;
    double tokens_per_s = 0;  // of the current phase
};

// What came since the last look.
struct GenerationDelta {
    std::string text;
    std::string reasoning;
    std::vector<int32_t> ids;
    bool finished = false;

    bool empty() const { return text.empty() && reasoning.empty() && ids.empty() && !finished; }
};

class Generation {
  public:
    void cancel() { job_.cancel(); }
    GenerationProgress progress() const;

    GenerationDelta take();
    // Blocks until there is something to take, or the time is over.
    GenerationDelta wait(std::chrono::milliseconds timeout);

    bool finished() const;
    // Blocks until finished. The reference lives as long as this handle.
    const Result<GenerationReport>& report() const;

  private:
    friend class GenerationWriter;  // the engine's side
    GenerationDelta take_locked();

    Job job_;
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    GenerationDelta pending_;                            // guarded by mutex_
    GenerationProgress progress_;                        // guarded by mutex_; the prompt's progress is in job_
    std::chrono::steady_clock::time_point phase_start_;  // guarded by mutex_
    std::optional<Result<GenerationReport>> report_;     // guarded by mutex_; never changes once set
};

}  // namespace octavo
