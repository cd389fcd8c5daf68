// Picks the next token from logits. Order: repeat penalty, temperature, top-k, top-p, min-p, draw. Every filter keeps a
// prefix of the ranking (higher logit first, equal logits by lower id), so the filters are one cut in it.
//
//  - repeat penalty: each distinct id among the last `repeat_window` tokens; a positive logit is divided by it, a
//    negative one multiplied.
//  - temperature 0: the best token, no draw. Otherwise logits / temperature.
//  - top-k: the best k. top-p: the fewest best tokens whose share of the probability (of what top-k left) reaches p.
//    min-p: those at least min_p times as probable as the best.
//
// NaN logits are never chosen. Cost is O(vocab); nothing sorts the vocabulary. The arithmetic (kernels/sampling.h) is
// one for CPU and GPU, to the bit: the same logits, options and seed give the same tokens on both.
//
// Threads: one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/base/random_stream.h"
#include "kernels/sampling.h"

namespace octavo {

struct SamplerOptions {
    float temperature = 0.7f;     // 0: greedy
    int top_k = 0;                // 0: all
    float top_p = 1.0f;           // 1: all
    float min_p = 0.0f;           // 0: all
    float repeat_penalty = 1.0f;  // 1: none
    int repeat_window = 64;       // tokens looked back at, prompt included
    uint64_t seed = 0;
};

// ErrorKind::usage with the allowed range.
Status check_sampler_options(const SamplerOptions& options);

class Sampler {
  public:
    explicit Sampler(const SamplerOptions& options) : options_(options), random_(options.seed) {}

    // `history`: all tokens so far, oldest first. ErrorKind::input when no logit is a number.
    Result<int32_t> sample(std::span<const float> logits, std::span<const int32_t> history);

    // The same in two halves, for a back end that samples (Backend::sample): what it needs for the next token, and what
    // its answer means. A window beyond kMostPenalised looks back no further than that.
    SamplingRule rule() const {
        return {options_.temperature, options_.top_k, options_.top_p, options_.min_p, options_.repeat_penalty};
    }
    // `newest` follows `history`.
    void fill(DrawInput& input, int64_t vocab, std::span<const int32_t> history, int32_t newest);
    static Result<int32_t> checked(int32_t id);

  private:
    struct Candidate {
        float logit;
        int32_t id;
        uint64_t weight;  // sampling_weight
    };
    static bool ranks_before(const Candidate& a, const Candidate& b) {
        return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
    }
    static int32_t best_token(std::span<const float> logits);  // -1: no logit is a number

    size_t looked_back_at(size_t tokens) const;  // of the newest; 0: there is no penalty
    std::span<const float> penalise(std::span<const float> logits, std::span<const int32_t> history);
    void collect(std::span<const float> logits, float best_logit);
    void keep_top_k(size_t k);
    uint64_t weigh(float best_logit);  // the sum of all weights
    void keep_min_p();
    void keep_mass(uint64_t mass);  // the shortest prefix of the ranking that weighs at least `mass`
    void cut_after(const Candidate& last);
    int32_t draw(double random) const;

    SamplerOptions options_;
    RandomStream random_;
    std::vector<Candidate> candidates_;  // in order of ids
    std::vector<Candidate> ranked_;      // scratch for selections
    std::vector<float> penalised_;       // [vocab] scratch, used with a repeat penalty
};

}  // namespace octavo
