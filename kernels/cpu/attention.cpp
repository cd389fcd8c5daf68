#include "kernels/cpu/cpu_backend.h"

namespace octavo {

void CpuBackend::kv_store(const KvStore& op) { reference_->kv_store(op); }
void CpuBackend::attention(const Attention& op) { reference_->attention(op); }

}  // namespace octavo
