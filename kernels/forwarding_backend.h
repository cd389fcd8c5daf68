// A back end that hands all operations on to another one. Derived ones change or watch some of them.
//
// What a back end may do in a way of its own stays as Backend has it: passes are not recorded and tokens not sampled
// behind a derived one's back, so every operation comes by.
#pragma once

#include <memory>
#include <utility>

#include "kernels/backend.h"

namespace octavo {

class ForwardingBackend : public Backend {
  public:
    explicit ForwardingBackend(std::unique_ptr<Backend> inner) : inner_(std::move(inner)) {}

    std::string name() const override { return inner_->name(); }
    Memory& memory() override { return inner_->memory(); }
    Status finish() override { return inner_->finish(); }
    void embed(const Matrix& table, std::span<const int32_t> ids, float* x) override { inner_->embed(table, ids, x); }
    void rms_norm(const float* x, int rows, int width, const float* weight, float eps, float* y) override {
        inner_->rms_norm(x, rows, width, weight, eps, y);
    }
    void matmul(const float* x, int tokens, std::span<const MatmulTarget> targets) override {
        inner_->matmul(x, tokens, targets);
    }
    void qk_norm_rope(const QkNormRope& op) override { inner_->qk_norm_rope(op); }
    void kv_basis(const KvRows& rows, float* q, int heads) override { inner_->kv_basis(rows, q, heads); }
    bool kv_store(const KvRows& rows) override { return inner_->kv_store(rows); }
    void kv_load(const KvRows& rows, int64_t position) override { inner_->kv_load(rows, position); }
    void attention(const Attention& op) override { inner_->attention(op); }
    void kv_overlay(const KvRows& rows) override { inner_->kv_overlay(rows); }
    void causal_conv(const CausalConv& op) override { inner_->causal_conv(op); }
    void gated_delta(const GatedDelta& op) override { inner_->gated_delta(op); }
    void gated_norm(const GatedNorm& op) override { inner_->gated_norm(op); }
    void moe(const Moe& op) override { inner_->moe(op); }
    void gather_columns(const float* x, int tokens, int64_t x_stride, std::span<const int32_t> source,
                        float* y) override {
        inner_->gather_columns(x, tokens, x_stride, source, y);
    }

  protected:
    Backend& inner() const { return *inner_; }

  private:
    std::unique_ptr<Backend> inner_;
};

}  // namespace octavo
