// The delta rule token by token: decay the state, read what it holds under k, write the difference to v, read with q.
// This is the definition; the chunked form must equal it.
#include <algorithm>

#include "kernels/reference/gated_delta.h"
#include "kernels/reference/reference.h"
#include "kernels/reference/scalar_math.h"

namespace octavo::reference {
namespace {

// One token on s[key_dim][value_dim].
void step(const DeltaToken& token, int64_t value_dim, std::vector<double>& s, float* out) {
    const int64_t key_dim = static_cast<int64_t>(token.k.size());
    const double decay = std::exp(token.g);
    for (double& value : s) value *= decay;
    for (int64_t j = 0; j < value_dim; ++j) {
        double memory = 0;
        for (int64_t i = 0; i < key_dim; ++i) memory += s[i * value_dim + j] * token.k[i];
        const double difference = token.beta * (token.v[j] - memory);
        double read = 0;
        for (int64_t i = 0; i < key_dim; ++i) {
            s[i * value_dim + j] += token.k[i] * difference;
            read += s[i * value_dim + j] * token.q[i];
        }
        out[j] = static_cast<float>(read);
    }
}

}  // namespace

void gated_delta_recurrent(const GatedDelta& op) {
    const int64_t state_values = int64_t{op.key_dim} * op.value_dim;
    for (int64_t head = 0; head < op.value_heads; ++head) {
        float* state = delta_state(op, head);
        std::vector<double> s(state, state + state_values);
        for (int64_t t = 0; t < op.tokens; ++t) {
            step(delta_token(op, t, head), op.value_dim, s, delta_out(op, t, head));
        }
        std::transform(s.begin(), s.end(), state, [](double value) { return static_cast<float>(value); });
    }
}

}  // namespace octavo::reference
