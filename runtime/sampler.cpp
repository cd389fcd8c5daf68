#include "runtime/sampler.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace octavo {
namespace {

Error out_of_range(const char* name, double value, const char* allowed) {
    return {ErrorKind::usage, fmt::format("{} is {}; it must be {}.", name, value, allowed)};
}

}  // namespace

// Written so that NaN fails every check.
Status check_sampler_options(const SamplerOptions& options) {
    if (!(options.temperature >= 0 && options.temperature <= 100))
        return out_of_range("The temperature", options.temperature, "between 0 and 100");
    if (options.top_k < 0) return out_of_range("top-k", options.top_k, "0 (off) or more");
    if (!(options.top_p > 0 && options.top_p <= 1)) return out_of_range("top-p", options.top_p, "above 0, at most 1");
    if (!(options.min_p >= 0 && options.min_p <= 1)) return out_of_range("min-p", options.min_p, "between 0 and 1");
    if (!(options.repeat_penalty >= 0.01f && options.repeat_penalty <= 100))
        return out_of_range("The repeat penalty", options.repeat_penalty, "between 0.01 and 100");
    if (options.repeat_window < 0) return out_of_range("The repeat window", options.repeat_window, "0 (off) or more");
    return {};
}

Result<int32_t> Sampler::sample(std::span<const float> logits, std::span<const int32_t> history) {
    const std::span<const float> penalised = penalise(logits, history);
    const int32_t best = best_token(penalised);
    const double random = options_.temperature > 0 ? random_.next_unit() : 0;
    if (best < 0 || options_.temperature == 0 || std::isinf(penalised[best])) return checked(best);
    const float best_logit = penalised[best];
    collect(penalised, best_logit);
    if (options_.top_k > 0) keep_top_k(static_cast<size_t>(options_.top_k));
    const uint64_t total = weigh(best_logit);
    if (options_.min_p > 0) keep_min_p();
    if (options_.top_p < 1) keep_mass(top_p_mass(options_.top_p, total));
    return draw(random);
}

void Sampler::fill(DrawInput& input, int64_t vocab, std::span<const int32_t> history, int32_t newest) {
    input.random = options_.temperature > 0 ? random_.next_unit() : 0;
    input.penalised_count = 0;
    const size_t window = looked_back_at(history.size() + 1);
    if (window == 0) return;
    const auto in_vocabulary = [&](int32_t id) { return id >= 0 && id < vocab; };
    const std::span<const int32_t> before = history.last(window - 1);
    int32_t* end = std::copy_if(before.begin(), before.end(), input.penalised, in_vocabulary);
    if (in_vocabulary(newest)) *end++ = newest;
    std::sort(input.penalised, end);
    input.penalised_count = static_cast<int32_t>(std::unique(input.penalised, end) - input.penalised);
}

Result<int32_t> Sampler::checked(int32_t id) {
    if (id >= 0) return id;
    return Error{ErrorKind::input,
                 "None of the model's logits is a number, so no token can be chosen; the file may be damaged."};
}

size_t Sampler::looked_back_at(size_t tokens) const {
    if (options_.repeat_penalty == 1.0f) return 0;
    return std::min<size_t>({tokens, static_cast<size_t>(options_.repeat_window), static_cast<size_t>(kMostPenalised)});
}

std::span<const float> Sampler::penalise(std::span<const float> logits, std::span<const int32_t> history) {
    const size_t window = looked_back_at(history.size());
    if (window == 0) return logits;
    penalised_.assign(logits.begin(), logits.end());
    for (const int32_t id : history.last(window)) {
        if (id < 0 || static_cast<size_t>(id) >= logits.size()) continue;
        const float logit = logits[id];  // not from penalised_: a token seen twice is penalised once
        penalised_[id] = penalised_logit(logit, options_.repeat_penalty);
    }
    return penalised_;
}

int32_t Sampler::best_token(std::span<const float> logits) {
    int32_t best = -1;
    float best_logit = -std::numeric_limits<float>::infinity();
    for (size_t i = 0; i < logits.size(); ++i) {
        if (logits[i] > best_logit) {  // false for NaN; keeps the lower id among equals
            best = static_cast<int32_t>(i);
            best_logit = logits[i];
        }
    }
    return best;
}

// Leaves out what weighs nothing.
void Sampler::collect(std::span<const float> logits, float best_logit) {
    constexpr double least_exponent = -30;  // 2^-43
    const double least_logit = best_logit + least_exponent * options_.temperature;
    candidates_.clear();
    for (size_t i = 0; i < logits.size(); ++i) {
        if (logits[i] >= least_logit) candidates_.push_back({logits[i], static_cast<int32_t>(i), 0});
    }
}

void Sampler::keep_top_k(size_t k) {
    if (k >= candidates_.size()) return;
    constexpr size_t small = 256;  // up to here a heap of k entries beats partitioning a copy of everything
    if (k <= small) {
        ranked_.resize(k);
        std::partial_sort_copy(candidates_.begin(), candidates_.end(), ranked_.begin(), ranked_.end(), ranks_before);
    } else {
        ranked_ = candidates_;
        std::nth_element(ranked_.begin(), ranked_.begin() + static_cast<ptrdiff_t>(k - 1), ranked_.end(), ranks_before);
    }
    cut_after(ranked_[k - 1]);
}

uint64_t Sampler::weigh(float best_logit) {
    uint64_t total = 0;
    for (Candidate& candidate : candidates_) {
        candidate.weight = sampling_weight(candidate.logit, best_logit, options_.temperature);
        total += candidate.weight;
    }
    return total;
}

void Sampler::keep_min_p() {
    const uint64_t least = min_p_weight(options_.min_p);
    std::erase_if(candidates_, [&](const Candidate& candidate) { return candidate.weight < least; });
}

// Selection by mass: halve the range, keep the half in which the running sum of the ranking reaches `mass`.
void Sampler::keep_mass(uint64_t mass) {
    ranked_ = candidates_;
    auto first = ranked_.begin();
    auto last = ranked_.end();
    while (last - first > 1) {
        const auto middle = first + (last - first) / 2;
        std::nth_element(first, middle, last, ranks_before);
        uint64_t upper = 0;
        for (auto i = first; i != middle; ++i) upper += i->weight;
        if (upper >= mass) {
            last = middle;
        } else {
            mass -= upper;
            first = middle;
        }
    }
    cut_after(*first);
}

void Sampler::cut_after(const Candidate& last) {
    std::erase_if(candidates_, [&](const Candidate& candidate) { return ranks_before(last, candidate); });
}

// In order of ids, whatever the filters did in between: so a seed gives the same text with every standard library.
int32_t Sampler::draw(double random) const {
    uint64_t total = 0;
    for (const Candidate& candidate : candidates_) total += candidate.weight;
    uint64_t unit = drawn_unit(random, total);
    size_t at = 0;
    while (unit >= candidates_[at].weight) unit -= candidates_[at++].weight;
    return candidates_[at].id;
}

}  // namespace octavo
