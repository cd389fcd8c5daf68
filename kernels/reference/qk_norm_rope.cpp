#include "kernels/reference/reference.h"
#include "kernels/reference/scalar_math.h"

namespace octavo::reference {
namespace {

// One head: y = rotate(RMSnorm(x) * weight). `cos` and `sin` [rope_dims / 2] are those of this token. x may be y.
void norm_rope_head(const QkNormRope& op, const float* x, const float* weight, const float* cos, const float* sin,
                    float* y) {
    const double factor = rms_factor(x, op.head_dim, op.rms_eps);
    std::vector<double> normed(static_cast<size_t>(op.head_dim));
    for (int i = 0; i < op.head_dim; ++i) normed[i] = x[i] * factor * weight[i];

    const int pairs = op.rope_dims / 2;
    for (int j = 0; j < pairs; ++j) {
        const double a = normed[j];
        const double b = normed[j + pairs];
        y[j] = static_cast<float>(a * cos[j] - b * sin[j]);
        y[j + pairs] = static_cast<float>(a * sin[j] + b * cos[j]);
    }
    for (int i = op.rope_dims; i < op.head_dim; ++i) y[i] = static_cast<float>(normed[i]);
}

}  // namespace

void qk_norm_rope(const QkNormRope& op) {
    const int64_t dim = op.head_dim;
    for (int64_t t = 0; t < op.tokens; ++t) {
        const float* cos = op.cos + t * (op.rope_dims / 2);
        const float* sin = op.sin + t * (op.rope_dims / 2);
        for (int64_t h = 0; h < op.heads; ++h) {
            const int64_t head = t * op.heads + h;
            norm_rope_head(op, op.q_gate + head * 2 * dim, op.q_norm + h * dim, cos, sin, op.q + head * dim);
        }
        for (int64_t h = 0; h < op.kv_heads; ++h) {
            float* k = op.k + (t * op.kv_heads + h) * dim;
            norm_rope_head(op, k, op.k_norm + h * dim, cos, sin, k);
        }
    }
}

}  // namespace octavo::reference
