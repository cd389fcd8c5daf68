#include "kernels/reference/reference.h"
#include "kernels/reference/scalar_math.h"

namespace octavo::reference {

void rms_norm(const float* x, int rows, int width, const float* weight, float eps, float* y) {
    for (int r = 0; r < rows; ++r, x += width, y += width) {
        const double factor = rms_factor(x, width, eps);
        for (int i = 0; i < width; ++i) y[i] = static_cast<float>(x[i] * factor * weight[i]);
    }
}

void gated_norm(const GatedNorm& op) {
    for (int64_t r = 0; r < op.rows; ++r) {
        const float* x = op.x + r * op.width;
        const float* z = op.z + r * op.width;
        float* y = op.y + r * op.width;
        const double factor = rms_factor(x, op.width, op.rms_eps);
        for (int i = 0; i < op.width; ++i) y[i] = static_cast<float>(x[i] * factor * op.weight[i] * silu(z[i]));
    }
}

}  // namespace octavo::reference
