#include "kernels/cpu/cpu_backend.h"

namespace octavo {

void CpuBackend::causal_conv(const CausalConv& op) { reference_->causal_conv(op); }
void CpuBackend::gated_delta(const GatedDelta& op) { reference_->gated_delta(op); }

}  // namespace octavo
