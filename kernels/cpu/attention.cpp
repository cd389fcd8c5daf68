#include "kernels/cpu/cpu_backend.h"

namespace octavo {

void CpuBackend::kv_basis(const KvRows& rows, float* q, int heads) { reference_->kv_basis(rows, q, heads); }
bool CpuBackend::kv_store(const KvRows& rows) { return reference_->kv_store(rows); }
void CpuBackend::kv_overlay(const KvRows& rows) { reference_->kv_overlay(rows); }
void CpuBackend::attention(const Attention& op) { reference_->attention(op); }

}  // namespace octavo
