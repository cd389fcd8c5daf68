#include "kernels/reference/reference.h"
#include "kernels/reference/scalar_math.h"

namespace octavo::reference {

void matmul(const float* x, int tokens, const MatmulTarget& target) {
    const Matrix& w = target.w;
    for (int64_t r = 0; r < w.rows; ++r) {
        const std::vector<float> row = decode_row(w, r);
        for (int64_t t = 0; t < tokens; ++t) {
            float& y = target.y[t * target.y_stride + r];
            const double before = target.accumulate ? y : 0;
            y = static_cast<float>(before + w.scale * dot(row.data(), x + t * w.cols, w.cols));
        }
    }
}

}  // namespace octavo::reference
