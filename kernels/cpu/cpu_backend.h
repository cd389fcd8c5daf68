// The fast CPU back end: splits each operation into tasks for a worker pool and calls the kernels of one instruction
// set (isa_kernels.h). One file per group of operations: matmul.cpp, moe.cpp, pointwise.cpp, attention.cpp,
// gated_delta.cpp.
//
// Arithmetic: float32 throughout; weights are unpacked exactly. A product of a weight row and a token is summed in one
// order whatever the number of tokens, tasks or threads, so `matmul` and `moe` give a token the same bits in every
// call.
// Memory: all scratch is taken when the back end is made (pages are touched as needed), so an operation cannot fail.
#pragma once

#include <memory>
#include <string>

#include "kernels/backend.h"
#include "kernels/base/buffer.h"
#include "kernels/base/thread_pool.h"
#include "kernels/cpu/isa_kernels.h"

namespace octavo {

class CpuBackend final : public Backend {
  public:
    // nullptr when the scratch memory cannot be had.
    static std::unique_ptr<CpuBackend> create(int threads, CpuIsa isa);

    std::string name() const override;

    // matmul.cpp
    void matmul(const float* x, int tokens, std::span<const MatmulTarget> targets) override;
    // moe.cpp
    void moe(const Moe& op) override;
    // pointwise.cpp
    void embed(const Matrix& table, std::span<const int32_t> ids, float* x) override;
    void rms_norm(const float* x, int rows, int width, const float* weight, float eps, float* y) override;
    void qk_norm_rope(const QkNormRope& op) override;
    void gated_norm(const GatedNorm& op) override;
    void gather_columns(const float* x, int tokens, int64_t x_stride, std::span<const int32_t> source,
                        float* y) override;
    // attention.cpp
    void kv_basis(const KvRows& rows, float* q, int heads) override;
    bool kv_store(const KvRows& rows) override;
    void kv_overlay(const KvRows& rows) override;
    void attention(const Attention& op) override;
    // gated_delta.cpp
    void causal_conv(const CausalConv& op) override;
    void gated_delta(const GatedDelta& op) override;

  private:
    // Each worker's own scratch, for one task: sized so that it stays in a core's L2 cache.
    static constexpr int64_t kWorkerScratchBytes = 1 << 20;
    // One region for all tasks of an operation.
    static constexpr int64_t kSharedScratchBytes = 32 << 20;

    CpuBackend(int threads, CpuIsa isa);

    std::byte* worker_scratch(int worker) const { return worker_scratch_.data() + worker * kWorkerScratchBytes; }
    std::byte* shared_scratch() const { return shared_scratch_.data(); }

    ThreadPool pool_;
    CpuIsa isa_name_;
    const IsaKernels& isa_;
    Buffer worker_scratch_;               // [threads][kWorkerScratchBytes]
    Buffer shared_scratch_;               // [kSharedScratchBytes]
    std::unique_ptr<Backend> reference_;  // for operations that have no fast kernel yet
};

}  // namespace octavo
