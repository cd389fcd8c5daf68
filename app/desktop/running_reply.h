// The reply that the engine writes: what has come of it, and how far it is.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <string>

#include "app/desktop/engine_port.h"
#include "app/store/records.h"
#include "ui/state/engine_state.h"
#include "ui/state/transcript_state.h"

namespace octavo {

class RunningReply {
  public:
    // `begun`: what the reply already has, where an earlier one is continued.
    RunningReply(int64_t conversation, int64_t message, bool with_thinking, ReplyPart begun);

    int64_t conversation() const { return conversation_; }
    int64_t message() const { return message_; }
    bool stopping() const { return stopping_; }
    void stop() { stopping_ = true; }

    void progress(const GenerationProgress& progress) { progress_ = progress; }
    // Gives what is new, for the store.
    ReplyPart add(const GenerationDelta& delta, int64_t now_ms);
    // What is kept of it. `model`: the name of what wrote it.
    FinishedReply finish(const Result<GenerationReport>& report, const std::string& model, int64_t now_ms);

    // Tokens of the conversation that the engine holds by now; 0 before it reads.
    int64_t held_tokens() const;

    const FinishedReply& so_far() const { return reply_; }
    MessagePhase phase() const;
    double thinking_seconds(int64_t now_ms) const;
    void fill(EngineState& state) const;

  private:
    int64_t conversation_;
    int64_t message_;
    bool stopping_ = false;
    GenerationProgress progress_;
    ReplyPart begun_;
    FinishedReply reply_;
    int64_t thinking_start_ms_ = 0;  // 0: it has not begun
    int64_t thinking_end_ms_ = 0;    // 0: it goes on
};

// A reply's figures as the transcript shows them.
ReplyFiguresView figures_view(const ReplyFigures& figures);

}  // namespace octavo
