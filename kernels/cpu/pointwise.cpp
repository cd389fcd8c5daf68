// Operations on one row at a time: the rows are shared out among the workers when there are many.
#include <cstring>

#include "kernels/cpu/cpu_backend.h"

namespace octavo {

void CpuBackend::embed(const Matrix& table, std::span<const int32_t> ids, float* x) {
    for_each_row(static_cast<int64_t>(ids.size()), table.cols, [&](int64_t token) {
        float* row = x + token * table.cols;
        unpack(table, ids[static_cast<size_t>(token)], 1, row);
        for (int64_t i = 0; table.scale != 1 && i < table.cols; ++i) row[i] *= table.scale;
    });
}

void CpuBackend::rms_norm(const float* x, int rows, int width, const float* weight, float eps, float* y) {
    for_each_row(rows, width,
                 [&](int64_t row) { isa_.rms_norm(x + row * width, weight, width, eps, y + row * width); });
}

void CpuBackend::qk_norm_rope(const QkNormRope& op) {
    const int64_t dim = op.head_dim;
    const int64_t q_width = op.heads * dim;
    const int64_t k_width = op.kv_heads * dim;
    const int half = op.rope_dims / 2;
    for_each_row(op.tokens, q_width + k_width, [&](int64_t token) {
        const float* cos = op.cos + token * half;
        const float* sin = op.sin + token * half;
        for (int64_t head = 0; head < op.heads; ++head) {
            float* q = op.q + token * q_width + head * dim;
            const float* projected = op.q_gate + (token * q_width + head * dim) * 2;
            isa_.rms_norm(projected, op.q_norm + head * dim, op.head_dim, op.rms_eps, q);
            isa_.rope(q, cos, sin, op.rope_dims);
        }
        for (int64_t head = 0; head < op.kv_heads; ++head) {
            float* k = op.k + token * k_width + head * dim;
            isa_.rms_norm(k, op.k_norm + head * dim, op.head_dim, op.rms_eps, k);
            isa_.rope(k, cos, sin, op.rope_dims);
        }
    });
}

void CpuBackend::gated_norm(const GatedNorm& op) {
    for_each_row(op.rows, op.width, [&](int64_t row) {
        const int64_t at = row * op.width;
        isa_.gated_norm(op.x + at, op.z + at, op.weight, op.width, op.rms_eps, op.y + at);
    });
}

void CpuBackend::gather_columns(const float* x, int tokens, int64_t x_stride, std::span<const int32_t> source,
                                float* y) {
    const auto width = static_cast<int64_t>(source.size());
    for_each_row(tokens, width, [&](int64_t token) {
        const float* from = x + token * x_stride;
        float* to = y + token * width;
        for (int64_t i = 0; i < width; ++i) to[i] = from[source[static_cast<size_t>(i)]];
    });
}

}  // namespace octavo
