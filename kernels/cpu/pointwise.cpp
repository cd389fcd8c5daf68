#include "kernels/cpu/cpu_backend.h"

namespace octavo {

void CpuBackend::embed(const Matrix& table, std::span<const int32_t> ids, float* x) {
    reference_->embed(table, ids, x);
}
void CpuBackend::rms_norm(const float* x, int rows, int width, const float* weight, float eps, float* y) {
    reference_->rms_norm(x, rows, width, weight, eps, y);
}
void CpuBackend::qk_norm_rope(const QkNormRope& op) { reference_->qk_norm_rope(op); }
void CpuBackend::gated_norm(const GatedNorm& op) { reference_->gated_norm(op); }
void CpuBackend::gather_columns(const float* x, int tokens, int64_t x_stride, std::span<const int32_t> source,
                                float* y) {
    reference_->gather_columns(x, tokens, x_stride, source, y);
}

}  // namespace octavo
