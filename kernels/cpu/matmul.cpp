#include "kernels/cpu/cpu_backend.h"

namespace octavo {

void CpuBackend::matmul(const float* x, int tokens, std::span<const MatmulTarget> targets) {
    reference_->matmul(x, tokens, targets);
}

}  // namespace octavo
