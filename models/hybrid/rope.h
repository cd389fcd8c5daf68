// Rotary frequencies from a model's settings: plain, linearly interpolated, or YaRN.
//
// Units: radians per position. Source: model_spec section 3.0; the tiny `-yarn` checkpoints decide.
// Threads: pure functions. Non-goal: scaling that depends on the length of the text.
#pragma once

#include <string_view>
#include <vector>

#include "kernels/base/error.h"

namespace octavo {

enum class RopeScaling { none, linear, yarn };

struct RopeSettings {
    int dims = 0;  // rotary dimensions of a head, even
    double theta = 0;
    RopeScaling scaling = RopeScaling::none;
    double factor = 1;            // context extension, >= 1
    double original_context = 0;  // tokens, YaRN only
    double beta_fast = 32;        // YaRN: turns within the original context above which nothing is interpolated
    double beta_slow = 1;         // YaRN: turns below which everything is
    double attention_factor = 1;  // on top of YaRN's own factor on cos and sin
};

struct RopeTable {
    std::vector<double> frequencies;  // [dims / 2]
    float scale = 1;                  // factor on cos and sin
};

// "none", "default", "linear", "yarn"; `key` names the setting in the error.
Result<RopeScaling> rope_scaling_of(std::string_view type, std::string_view key);
RopeTable make_rope_table(const RopeSettings& settings);

}  // namespace octavo
