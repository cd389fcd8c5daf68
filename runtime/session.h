// One conversation as the model sees it: the tokens so far, the KV cache and recurrent state after them, and
// checkpoints to go back to. `prefill` reads only what differs from the tokens already there, so a second turn,
// "regenerate", an edited message or a branch never reads the whole prompt again.
//
// Deterministic: the same calls give the same bits. Differently split prompts agree up to rounding.
//
// Threads: one thread at a time (the engine's).
// Non-goals: no text; one sequence only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kernels/base/buffer.h"
#include "kernels/base/job.h"
#include "models/hybrid/forward.h"
#include "runtime/checkpoint.h"
#include "runtime/kv/kv_cache.h"
#include "runtime/recurrent_state.h"
#include "runtime/sampler.h"

namespace octavo {

struct SessionOptions {
    KvSettings kv;                          // raw f16 unless a person chooses
    KvEqualise equalise = KvEqualise::off;  // what was done to the model's channels, for reports; a cache lives with it
    int64_t context_length = 0;             // most tokens of the conversation; 0: the model's own
    int prefill_chunk = 512;                // tokens of one pass; a cancel waits at most this long
    int64_t checkpoint_interval = 8192;     // tokens between checkpoints of a long prompt
    int64_t checkpoint_budget_bytes = int64_t{2} << 30;
};

// Where a checkpoint is wanted; passes end there.
struct Anchor {
    int64_t position = 0;  // tokens before it
    CheckpointKind kind = CheckpointKind::turn;
};

struct PrefillReport {
    int64_t prompt_tokens = 0;
    int64_t reused_tokens = 0;        // not read again
    int64_t prefilled_tokens = 0;     // prompt_tokens - reused_tokens, or less when cancelled
    int64_t checkpoints_refused = 0;  // for lack of memory
    double seconds = 0;
    bool cancelled = false;  // the session then holds the first reused + prefilled tokens
};

class Session {
  public:
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    // `config` and `forward` outlive the session. Several sessions may share one Forward.
    static Result<std::unique_ptr<Session>> create(const HybridConfig& config, Forward& forward,
                                                   const SessionOptions& options);

    // Brings the session to hold exactly `ids`, with the logits of the last one in logits(). `anchors` in any order.
    // Fails without a change when the prompt is empty, has an id outside the vocabulary (ErrorKind::usage), is longer
    // than the context (context_full), or the machine has no room (memory). job: done and total count prompt tokens.
    Result<PrefillReport> prefill(std::span<const int32_t> ids, std::span<const Anchor> anchors, Job& job);

    // How many tokens of `ids` a prefill would not read again: it goes on from the live state, from the nearest
    // checkpoint, or from nothing.
    int64_t reusable_prefix(std::span<const int32_t> ids) const;

    // Appends one token; logits() are then those after it. The same errors.
    Status decode(int32_t id);
    // The same, and the token that `sampler` picks after it. Where the back end samples, logits() stay on the device:
    // fetch_logits() brings them, as long as no other session has run since.
    Result<int32_t> decode_and_sample(int32_t id, Sampler& sampler);
    Status fetch_logits();

    // Appends ids in passes of at most prefill_chunk tokens and hands out the logits of the last `logit_rows` tokens in
    // order: sink(position of the first row, rows, logits[rows][vocab]). For parity checks and measurements.
    using LogitSink = std::function<void(int64_t first_position, int rows, const float* logits)>;
    Status append(std::span<const int32_t> ids, int64_t logit_rows, const LogitSink& sink, Job& job);

    std::span<const int32_t> tokens() const { return tokens_; }
    int64_t position() const { return static_cast<int64_t>(tokens_.size()); }
    // Logits[vocab] after the last token; empty where they were not computed.
    std::span<const float> logits() const;

    // Keeps the state as it is now (with the logits, where there are some).
    Status checkpoint_here(CheckpointKind kind = CheckpointKind::turn);
    // Back to a checkpoint at exactly `position` (0 always works); what came after is forgotten.
    // ErrorKind::usage where there is none.
    Status restore(int64_t position);
    void clear() { (void)restore(0); }

    // From here on no token attends to cells [first, first + count), as if attention could not see them; count 0 shows
    // all again. For the recall test's control: Gated-DeltaNet layers and what later cells took from them are
    // untouched.
    void mask_cells(int64_t first, int64_t count);

    // Other settings for the cache, from here on and for what it holds, without reading the text again. Where the
    // change ends with KvChangeOutcome::lost the session is empty.
    KvChange change_kv(const KvSettings& settings, Job& job, KvChangeRoom room = KvChangeRoom::automatic);

    // Reads all tokens again, so that every cell is exactly what the settings make of it. Cancelled
    // (ErrorKind::cancelled) or failed, the session is as it was. Needs room for a second cache while it runs.
    Result<PrefillReport> rebuild(Job& job);

    // How the channels of the model, and so of what the cache holds, are scaled.
    KvEqualise equalise() const { return equalise_; }

    int64_t context_length() const { return context_length_; }
    // At once, without copying anything. ErrorKind::usage below the tokens that are there, below the FP16 window or
    // sinks, or above the model's length.
    Status set_context_length(int64_t tokens);
    const KvCache& cache() const { return cache_; }
    const CheckpointStore& checkpoints() const { return checkpoints_; }
    CheckpointStore& checkpoints() { return checkpoints_; }
    int64_t recurrent_bytes() const { return recurrent_.bytes(); }
    Backend& backend() const { return forward_->backend(); }  // for measurements

  private:
    Session(const HybridConfig& config, Forward& forward, const SessionOptions& options, KvCache cache,
            RecurrentState recurrent, Buffer logits);

    Status check(std::span<const int32_t> ids, int64_t first_position) const;
    // Forgets what comes after `position`, where the live state or a checkpoint is. Where there is no memory for that
    // the session is empty afterwards.
    Status rewind(int64_t position);
    // Reads ids[T], T <= prefill_chunk; logits[logit_rows][vocab].
    void refresh_views();
    Status run_pass(std::span<const int32_t> ids, int logit_rows, float* logits);
    // Tokens that the next pass may read: it ends at the chunk, the interval, and at `stop`.
    int64_t pass_end(int64_t stop) const;
    bool at_interval() const { return position() > 0 && position() % checkpoint_interval_ == 0; }

    const HybridConfig* config_;
    Forward* forward_;
    KvEqualise equalise_;
    int64_t context_length_;
    int prefill_chunk_;
    int64_t checkpoint_interval_;

    std::vector<int32_t> tokens_;
    KvCache cache_;
    RecurrentState recurrent_;
    SequenceState views_;
    int64_t masked_first_ = 0;
    int64_t masked_cells_ = 0;
    Buffer logits_;  // [vocab]
    bool logits_valid_ = false;
    bool logits_on_device_ = false;  // of the last token, and not in logits_
    CheckpointStore checkpoints_;
};

}  // namespace octavo
