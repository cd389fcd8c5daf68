// How the next token is drawn from logits, as arithmetic that a CPU and a GPU do to the same bit: weights are whole
// numbers, whose sums do not depend on their order.
//
// A token's weight is exp((logit - best) / temperature), in units of 2^-kWeightBits; what is below half a unit weighs
// nothing and is never drawn. Filters (runtime/sampler.h) keep a prefix of the ranking: higher logit first, equal
// logits by lower id.
#pragma once

#include <bit>
#include <cstdint>

namespace octavo {

inline constexpr int kWeightBits = 42;  // the weights of 2^21 tokens, the largest vocabulary, add up to less than 2^64

// exp(x) for x <= 0, within 2^-22 of it.
constexpr float exp_of_negative(float x) {
    constexpr float kLeast = -80;
    if (!(x > kLeast)) return 0;
    // x = n ln 2 + r, |r| <= ln 2 / 2; ln 2 in two parts, so that the difference loses nothing.
    const int n = static_cast<int>(x * 1.44269504f - 0.5f);
    const auto whole = static_cast<float>(n);
    const float r = (x - whole * 0.693359375f) + whole * 2.12194440e-4f;
    float sum = 1.98412698e-4f;
    for (const float factor : {1.38888889e-3f, 8.33333333e-3f, 4.16666667e-2f, 1.66666667e-1f, 0.5f, 1.0f, 1.0f}) {
        sum = sum * r + factor;
    }
    return sum * std::bit_cast<float>(static_cast<uint32_t>(n + 127) << 23);
}

// `logit` is no more than `best`, a finite number.
constexpr uint64_t sampling_weight(float logit, float best, float temperature) {
    const float share = exp_of_negative((logit - best) / temperature);
    // NOLINTNEXTLINE(bugprone-incorrect-roundings): the same bits on every back end; a share is at most 1
    return static_cast<uint64_t>(share * static_cast<float>(uint64_t{1} << kWeightBits) + 0.5f);
}

// The same order as the logits'; -0 and 0 are one. 0 for what is no number.
constexpr uint32_t rank_of_logit(float logit) {
    if (logit != logit) return 0;
    const uint32_t bits = std::bit_cast<uint32_t>(logit + 0.0f);
    return (bits >> 31 != 0 ? ~bits : bits | 0x80000000u);
}
constexpr float logit_of_rank(uint32_t rank) {
    return std::bit_cast<float>(rank >> 31 != 0 ? rank & 0x7fffffffu : ~rank);
}
inline constexpr uint32_t kLeastRank = 0x007fffffu;  // of minus infinity: neither it nor anything below is ever chosen

constexpr float penalised_logit(float logit, float penalty) { return logit > 0 ? logit / penalty : logit * penalty; }

// Least weight that min-p keeps.
constexpr uint64_t min_p_weight(float min_p) {
    const double weight = static_cast<double>(min_p) * static_cast<double>(uint64_t{1} << kWeightBits);
    const auto whole = static_cast<uint64_t>(weight);
    return whole + (static_cast<double>(whole) < weight ? 1 : 0);
}

// What the kept part of the ranking must weigh at least, of `total`.
constexpr uint64_t top_p_mass(float top_p, uint64_t total) {
    const double mass = static_cast<double>(top_p) * static_cast<double>(total);
    const auto whole = static_cast<uint64_t>(mass);
    const uint64_t least = whole + (static_cast<double>(whole) < mass ? 1 : 0);
    return least < total ? least : total;
}

// Which unit of weight a random number from [0, 1) falls on, counted in the order of ids.
constexpr uint64_t drawn_unit(double random, uint64_t total) {
    const auto unit = static_cast<uint64_t>(random * static_cast<double>(total));
    return unit < total ? unit : total - 1;
}

// What differs from token to token, in the back end's memory.
inline constexpr int kMostPenalised = 4096;
struct DrawInput {
    double random = 0;  // from [0, 1)
    int32_t penalised_count = 0;
    int32_t penalised[kMostPenalised] = {};  // distinct ids
};

struct SamplingRule {
    float temperature = 0;     // 0: the best token
    int top_k = 0;             // 0: all
    float top_p = 1;           // 1: all
    float min_p = 0;           // 0: all
    float repeat_penalty = 1;  // 1: none
};

// Picks one token; the logits are left as they were.
struct Sampling {
    float* logits = nullptr;  // [vocab]
    int vocab = 0;
    SamplingRule rule;
    const DrawInput* input = nullptr;
    int32_t* id = nullptr;  // out; -1: no logit is a number
};

}  // namespace octavo
