#include "kernels/reference/gated_delta.h"

#include "kernels/reference/scalar_math.h"

namespace octavo::reference {
namespace {

std::vector<double> l2_normalised(const float* x, int count, double scale) {
    constexpr double kEps = 1e-6;  // added to the sum, not to the mean
    const double factor = scale / std::sqrt(dot(x, x, count) + kEps);
    std::vector<double> y(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) y[i] = x[i] * factor;
    return y;
}

}  // namespace

DeltaToken delta_token(const GatedDelta& op, int64_t token, int64_t value_head) {
    const int64_t key_width = int64_t{op.key_heads} * op.key_dim;
    const int64_t row_width = 2 * key_width + int64_t{op.value_heads} * op.value_dim;
    const float* q = op.qkv + token * row_width + int64_t{op.key_head_of_value_head[value_head]} * op.key_dim;
    const float* k = q + key_width;
    const float* v = op.qkv + token * row_width + 2 * key_width + value_head * op.value_dim;
    const double b = op.b[token * op.value_heads + value_head];
    const double a = op.a[token * op.value_heads + value_head];
    return {
        .q = l2_normalised(q, op.key_dim, 1 / std::sqrt(static_cast<double>(op.key_dim))),
        .k = l2_normalised(k, op.key_dim, 1),
        .v = v,
        .beta = sigmoid(b),
        .g = op.a_scale[value_head] * softplus(a + op.dt_bias[value_head]),
    };
}

}  // namespace octavo::reference
