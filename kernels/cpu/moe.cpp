#include "kernels/cpu/cpu_backend.h"

namespace octavo {

void CpuBackend::moe(const Moe& op) { reference_->moe(op); }

}  // namespace octavo
