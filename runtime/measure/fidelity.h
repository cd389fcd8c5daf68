// What a KV cache's settings do to a model: one text is read under a reference and under each candidate, and the
// logits after every token are compared. Teacher-forced: all read the same tokens, so errors do not add up in the text.
//
// The reference and a few candidates advance side by side, a block of tokens at a time, so that the logits of one block
// are all that is kept.
//
// Threads: one caller; it waits for the engine.
// Source: kv_formats (the design), section 6. Non-goals: free-running text and recall.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/base/job.h"
#include "runtime/engine.h"

namespace octavo {

// Over the positions of a stretch of the text. Divergences in nats.
struct FidelityScores {
    int64_t positions = 0;
    double mean_kl = 0;  // KL(reference || candidate) of the next token's distribution
    double median_kl = 0;
    double kl_999 = 0;      // 99.9% of positions are at or below
    double top1 = 0;        // share of positions where both hold the same token for the best
    double perplexity = 0;  // of the text under the candidate; the last token has no successor and does not count
};

inline constexpr size_t kFidelityBuckets = 4;  // quarters of the text, by position

struct FidelityRow {
    KvSettings kv;
    FidelityScores all;
    std::array<FidelityScores, kFidelityBuckets> buckets;
};

struct FidelityRequest {
    std::vector<int32_t> ids;
    KvSettings reference;
    std::vector<KvSettings> candidates;
};

struct FidelityReport {
    FidelityRow reference;          // against itself: divergence 0, but the perplexity counts
    std::vector<FidelityRow> rows;  // in the order of the candidates
};

// The errors of Session::append and of settings that do not fit the model; ErrorKind::cancelled.
// job: done and total count tokens read.
Result<FidelityReport> measure_fidelity(Engine& engine, const FidelityRequest& request, Job& job);

// One position: both rows are logits[vocab]; `next` is the text's token there, or -1.
struct PositionFidelity {
    double kl = 0;  // infinite where a candidate's logit is not a number
    bool same_best = false;
    double next_log_probability = 0;  // under the candidate; 0 without a next token
};
PositionFidelity compare_position(std::span<const float> reference, std::span<const float> candidate, int32_t next);

FidelityScores score_positions(std::span<const PositionFidelity> positions, bool last_has_next);

}  // namespace octavo
