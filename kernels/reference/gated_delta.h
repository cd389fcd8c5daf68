// What the two forms of the delta rule share: the inputs of one value head at one token, made ready.
#pragma once

#include <vector>

#include "kernels/backend.h"

namespace octavo::reference {

struct DeltaToken {
    std::vector<double> q;     // [key_dim], L2-normalised, times 1/sqrt(key_dim)
    std::vector<double> k;     // [key_dim], L2-normalised
    const float* v = nullptr;  // [value_dim]
    double beta = 0;           // how much of the difference is written
    double g = 0;              // logarithm of the decay, <= 0
};

DeltaToken delta_token(const GatedDelta& op, int64_t token, int64_t value_head);

// State and output of one value head at one token.
inline float* delta_state(const GatedDelta& op, int64_t value_head) {
    return op.state + value_head * op.key_dim * op.value_dim;
}
inline float* delta_out(const GatedDelta& op, int64_t token, int64_t value_head) {
    return op.out + (token * op.value_heads + value_head) * op.value_dim;
}

}  // namespace octavo::reference
