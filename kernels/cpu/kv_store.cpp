// New keys and values: raw formats are written here; the rest is left to the reference so far.
#include <algorithm>
#include <atomic>

#include "kernels/cpu/cpu_backend.h"

namespace octavo {
namespace {

constexpr int kCellsPerTask = 32;

bool raw(const KvView& cache) { return kv_format_spec(cache.k.format).raw() && kv_format_spec(cache.v.format).raw(); }

}  // namespace

void CpuBackend::kv_basis(const KvRows& rows, float* q, int heads) { reference_->kv_basis(rows, q, heads); }

void CpuBackend::kv_load(const KvRows& rows, int64_t position) { reference_->kv_load(rows, position); }

void CpuBackend::kv_overlay(const KvRows& rows) { reference_->kv_overlay(rows); }

bool CpuBackend::kv_store(const KvRows& rows) {
    const KvView& cache = rows.cache;
    if (!raw(cache) || rows.k == nullptr || rows.v == nullptr) return reference_->kv_store(rows);
    const int64_t cell_floats = int64_t{cache.kv_heads} * cache.head_dim;
    std::atomic<bool> finite{true};
    const auto encode = [&](const KvSide& side, const float* x, int first, int count) {
        if (!isa_.encode_raw(static_cast<int>(side.format), x + first * cell_floats, count * cell_floats,
                             kv_payload_at(cache, side, rows.first_cell + first, 0))) {
            finite.store(false, std::memory_order_relaxed);
        }
    };
    const int tasks = (rows.tokens + kCellsPerTask - 1) / kCellsPerTask;
    run(tasks, 2 * rows.tokens * cell_floats, [&](int task, int) {
        const int first = task * kCellsPerTask;
        const int count = std::min(kCellsPerTask, rows.tokens - first);
        encode(cache.k, rows.k, first, count);
        encode(cache.v, rows.v, first, count);
    });
    return finite.load();
}

}  // namespace octavo
