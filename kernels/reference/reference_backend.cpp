#include "kernels/reference/reference.h"

namespace octavo {
namespace {

class ReferenceBackend final : public Backend {
  public:
    std::string name() const override { return "reference, scalar, double accumulation"; }
    Memory& memory() override { return memory_; }

    void embed(const Matrix& table, std::span<const int32_t> ids, float* x) override {
        reference::embed(table, ids, x);
    }
    void rms_norm(const float* x, int rows, int width, const float* weight, float eps, float* y) override {
        reference::rms_norm(x, rows, width, weight, eps, y);
    }
    void matmul(const float* x, int tokens, std::span<const MatmulTarget> targets) override {
        for (const MatmulTarget& target : targets) reference::matmul(x, tokens, target);
    }
    void qk_norm_rope(const QkNormRope& op) override { reference::qk_norm_rope(op); }
    void kv_basis(const KvRows& rows, float* q, int heads) override { reference::kv_basis(rows, q, heads); }
    bool kv_store(const KvRows& rows) override { return reference::kv_store(rows); }
    void kv_overlay(const KvRows& rows) override { reference::kv_overlay(rows); }
    void kv_load(const KvRows& rows, int64_t position) override { reference::kv_load(rows, position); }
    void attention(const Attention& op) override { reference::attention(op); }
    void causal_conv(const CausalConv& op) override { reference::causal_conv(op); }
    void gated_delta(const GatedDelta& op) override {
        // The recurrent form is the definition, so it is also what `automatic` means here.
        if (op.form == DeltaForm::chunked) {
            reference::gated_delta_chunked(op);
        } else {
            reference::gated_delta_recurrent(op);
        }
    }
    void gated_norm(const GatedNorm& op) override { reference::gated_norm(op); }
    void moe(const Moe& op) override { reference::moe(op); }
    void gather_columns(const float* x, int tokens, int64_t x_stride, std::span<const int32_t> source,
                        float* y) override {
        reference::gather_columns(x, tokens, x_stride, source, y);
    }

  private:
    HostMemory memory_;
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend() { return std::make_unique<ReferenceBackend>(); }

}  // namespace octavo
