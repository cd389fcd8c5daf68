#include "kernels/reference/reference.h"
#include "kernels/reference/scalar_math.h"

namespace octavo::reference {

void causal_conv(const CausalConv& op) {
    const int64_t history = op.kernel - 1;
    std::vector<float> line(static_cast<size_t>(history + op.tokens));  // one channel over time, history first
    for (int64_t c = 0; c < op.channels; ++c) {
        for (int64_t i = 0; i < history; ++i) line[i] = op.state[i * op.channels + c];
        for (int64_t t = 0; t < op.tokens; ++t) line[history + t] = op.x[t * op.channels + c];
        for (int64_t t = 0; t < op.tokens; ++t) {
            const double sum = dot(op.weight + c * op.kernel, &line[t], op.kernel);
            op.y[t * op.channels + c] = static_cast<float>(silu(sum));
        }
        for (int64_t i = 0; i < history; ++i) op.state[i * op.channels + c] = line[op.tokens + i];
    }
}

}  // namespace octavo::reference
