#include "kernels/host_arrays.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/placed_ffn.h"

namespace octavo {
namespace {

// Copies of one call's arrays in the device's memory.
class Staging {
  public:
    explicit Staging(Backend& device) : device_(device), memory_(device.memory()) {}

    template <class T>
    T* in(const T* host, int64_t count) {
        return in_bytes<T>(host, count * static_cast<int64_t>(sizeof(T)));
    }
    // Written by the call; what is there before comes along.
    template <class T>
    T* inout(T* host, int64_t count) {
        T* copy = in(static_cast<const T*>(host), count);
        if (copy != nullptr) back_.push_back({host, copy, static_cast<size_t>(count) * sizeof(T)});
        return copy;
    }
    Matrix in(const Matrix& w) {
        Matrix copy = w;
        copy.data = in_bytes<std::byte>(w.data, w.bytes());
        copy.block_scales = in_bytes<std::byte>(w.block_scales, w.scale_bytes());
        return copy;
    }
    // Feed-forward blocks at equal distances.
    std::vector<FfnMatrices> in(std::span<const FfnMatrices> blocks) {
        std::vector<FfnMatrices> copies(blocks.begin(), blocks.end());
        const auto placed_bytes = [](const FfnMatrices& block) { return block.absent() ? 0 : placed_ffn_bytes(block); };
        int64_t bytes = 0;
        for (const FfnMatrices& block : blocks) bytes += placed_bytes(block);
        std::byte* to = take(static_cast<size_t>(bytes));
        for (FfnMatrices& copy : copies) {
            if (to == nullptr) break;
            if (!copy.absent()) copy = place_ffn(copy, std::exchange(to, to + placed_bytes(copy)), memory_);
        }
        return copies;
    }
    // The parts of a cache that hold `cells` cells, with the FP16 copies.
    KvView view(const KvView& host, int64_t cells, bool written) {
        const auto stage = [&](auto* array, int64_t count) { return written ? inout(array, count) : in(array, count); };
        KvView copy = host;
        const int64_t row = int64_t{host.kv_heads} * host.head_dim;
        const auto side = [&](KvSide& s, f16_bits*& sinks, f16_bits*& ring) {
            const bool groups = kv_format_spec(s.format).per_channel();
            const int64_t held = groups ? cells / kKvGroupCells * kKvGroupCells : cells;
            const int64_t rows = held * host.kv_heads;
            s.payload = stage(s.payload, rows * kv_payload_bytes_per_row(s.format, host.head_dim));
            s.scales = stage(s.scales, rows * kv_scale_bytes_per_row(s.format, host.head_dim));
            s.open = stage(s.open, s.open != nullptr ? kKvGroupCells * row : 0);
            sinks = stage(sinks, host.overlay.sinks * row);
            ring = stage(ring, host.overlay.window * row);
        };
        side(copy.k, copy.overlay.sink_k, copy.overlay.ring_k);
        side(copy.v, copy.overlay.sink_v, copy.overlay.ring_v);
        copy.v_scale = in(host.v_scale, host.v_scale != nullptr ? row : 0);
        return copy;
    }
    KvRows rows(const KvRows& host, int64_t cells, bool written) {
        KvRows copy = host;
        const int64_t floats = int64_t{host.tokens} * host.cache.kv_heads * host.cache.head_dim;
        copy.cache = view(host.cache, cells, written);
        copy.k = inout(host.k, host.k != nullptr ? floats : 0);
        copy.v = inout(host.v, host.v != nullptr ? floats : 0);
        return copy;
    }

    // Whether all arrays found room; nothing may be run otherwise.
    bool ready() const { return !error_; }
    // Waits, and brings the outputs back.
    Status end() {
        if (error_) return *error_;
        if (Status status = device_.finish(); !status) return status;
        for (const Back& back : back_) memory_.download(back.host, back.device, back.bytes);
        return device_.finish();
    }

  private:
    struct Back {
        void* host;
        const void* device;
        size_t bytes;
    };

    std::byte* take(size_t bytes) {
        if (error_ || bytes == 0) return nullptr;
        Result<Buffer> buffer = memory_.allocate(bytes, "copies for a check");
        if (!buffer) {
            error_ = buffer.error();
            return nullptr;
        }
        buffers_.push_back(std::move(*buffer));
        return buffers_.back().data();
    }
    template <class T>
    T* in_bytes(const void* host, int64_t bytes) {
        std::byte* copy = host != nullptr && bytes > 0 ? take(static_cast<size_t>(bytes)) : nullptr;
        if (copy != nullptr) memory_.upload(copy, host, static_cast<size_t>(bytes));
        return reinterpret_cast<T*>(copy);
    }

    Backend& device_;
    Memory& memory_;
    std::optional<Error> error_;
    std::vector<Buffer> buffers_;
    std::vector<Back> back_;
};

class HostArrays final : public Backend {
  public:
    explicit HostArrays(std::unique_ptr<Backend> device) : device_(std::move(device)) {}

    std::string name() const override { return device_->name(); }
    Memory& memory() override { return host_; }
    Status finish() override { return std::exchange(status_, Status()); }

    void embed(const Matrix& table, std::span<const int32_t> ids, float* x) override {
        Staging stage(*device_);
        const Matrix t = stage.in(table);
        float* y = stage.inout(x, std::ssize(ids) * table.cols);
        if (stage.ready()) device_->embed(t, ids, y);
        end(stage);
    }
    void rms_norm(const float* x, int rows, int width, const float* weight, float eps, float* y) override {
        Staging stage(*device_);
        const float* staged_x = stage.in(x, int64_t{rows} * width);
        const float* staged_weight = stage.in(weight, width);
        float* staged_y = stage.inout(y, int64_t{rows} * width);
        if (stage.ready()) device_->rms_norm(staged_x, rows, width, staged_weight, eps, staged_y);
        end(stage);
    }
    void matmul(const float* x, int tokens, std::span<const MatmulTarget> targets) override {
        if (targets.empty()) return;
        Staging stage(*device_);
        const float* staged_x = stage.in(x, tokens * targets.front().w.cols);
        std::vector<MatmulTarget> staged(targets.begin(), targets.end());
        std::vector<std::vector<float>> results;  // of one target each, with what lies between its rows
        for (const MatmulTarget& target : targets) {
            const int64_t floats = (tokens - 1) * target.y_stride + target.w.rows;
            results.emplace_back(target.y, target.y + floats);
        }
        for (size_t i = 0; i < staged.size(); ++i) {
            staged[i].w = stage.in(staged[i].w);
            staged[i].y = stage.inout(results[i].data(), std::ssize(results[i]));
        }
        if (stage.ready()) device_->matmul(staged_x, tokens, staged);
        end(stage);
        for (size_t i = 0; i < staged.size(); ++i) {
            for (int64_t t = 0; t < tokens; ++t) {
                const int64_t at = t * targets[i].y_stride;
                std::copy_n(results[i].data() + at, targets[i].w.rows, targets[i].y + at);
            }
        }
    }
    void qk_norm_rope(const QkNormRope& op) override {
        Staging stage(*device_);
        QkNormRope staged = op;
        const int64_t q_width = int64_t{op.heads} * op.head_dim;
        const int64_t k_width = int64_t{op.kv_heads} * op.head_dim;
        const int64_t pairs = int64_t{op.tokens} * (op.rope_dims / 2);
        staged.q_gate = stage.in(op.q_gate, 2 * op.tokens * q_width);
        staged.q_norm = stage.in(op.q_norm, q_width);
        staged.k_norm = stage.in(op.k_norm, k_width);
        staged.cos = stage.in(op.cos, pairs);
        staged.sin = stage.in(op.sin, pairs);
        staged.q = stage.inout(op.q, op.tokens * q_width);
        staged.k = stage.inout(op.k, op.tokens * k_width);
        if (stage.ready()) device_->qk_norm_rope(staged);
        end(stage);
    }
    void kv_basis(const KvRows& rows, float* q, int heads) override {
        Staging stage(*device_);
        const KvRows staged = stage.rows(rows, 0, false);
        float* staged_q = stage.inout(q, q != nullptr ? int64_t{rows.tokens} * heads * rows.cache.head_dim : 0);
        if (stage.ready()) device_->kv_basis(staged, staged_q, heads);
        end(stage);
    }
    bool kv_store(const KvRows& rows) override {
        Staging stage(*device_);
        const KvRows staged = stage.rows(rows, rows.first_cell + rows.tokens, true);
        bool stored = true;
        if (stage.ready()) stored = device_->kv_store(staged);
        const Status status = stage.end();
        if (!status && status.error().kind == ErrorKind::input) return false;
        keep(status);
        return stored;
    }
    void kv_load(const KvRows& rows, int64_t position) override {
        Staging stage(*device_);
        const KvRows staged = stage.rows(rows, position + 1, false);
        if (stage.ready()) device_->kv_load(staged, position);
        end(stage);
    }
    void attention(const Attention& op) override {
        Staging stage(*device_);
        Attention staged = op;
        const int64_t q_floats = int64_t{op.tokens} * op.heads * op.cache.head_dim;
        const int64_t kv_floats = int64_t{op.tokens} * op.cache.kv_heads * op.cache.head_dim;
        staged.cache = stage.view(op.cache, op.first_cell + op.tokens, false);
        staged.q = stage.in(op.q, q_floats);
        staged.q_gate = stage.in(op.q_gate, 2 * q_floats);
        staged.k_new = stage.in(op.k_new, kv_floats);
        staged.v_new = stage.in(op.v_new, kv_floats);
        staged.out = stage.inout(op.out, q_floats);
        if (stage.ready()) device_->attention(staged);
        end(stage);
    }
    void kv_overlay(const KvRows& rows) override {
        Staging stage(*device_);
        const KvRows staged = stage.rows(rows, 0, true);
        if (stage.ready()) device_->kv_overlay(staged);
        end(stage);
    }
    void causal_conv(const CausalConv& op) override {
        Staging stage(*device_);
        CausalConv staged = op;
        const int64_t channels = op.channels;
        staged.x = stage.in(op.x, op.tokens * channels);
        staged.weight = stage.in(op.weight, channels * op.kernel);
        staged.state = stage.inout(op.state, (op.kernel - 1) * channels);
        staged.y = stage.inout(op.y, op.tokens * channels);
        if (stage.ready()) device_->causal_conv(staged);
        end(stage);
    }
    void gated_delta(const GatedDelta& op) override {
        Staging stage(*device_);
        GatedDelta staged = op;
        const int64_t values = int64_t{op.value_heads} * op.value_dim;
        const int64_t heads = op.value_heads;
        staged.qkv = stage.in(op.qkv, op.tokens * (2 * int64_t{op.key_heads} * op.key_dim + values));
        staged.b = stage.in(op.b, op.tokens * heads);
        staged.a = stage.in(op.a, op.tokens * heads);
        staged.a_scale = stage.in(op.a_scale, heads);
        staged.dt_bias = stage.in(op.dt_bias, heads);
        staged.key_head_of_value_head = stage.in(op.key_head_of_value_head, heads);
        staged.state = stage.inout(op.state, values * op.key_dim);
        staged.out = stage.inout(op.out, op.tokens * values);
        if (stage.ready()) device_->gated_delta(staged);
        end(stage);
    }
    void gated_norm(const GatedNorm& op) override {
        Staging stage(*device_);
        GatedNorm staged = op;
        const int64_t floats = int64_t{op.rows} * op.width;
        staged.x = stage.in(op.x, floats);
        staged.z = stage.in(op.z, floats);
        staged.weight = stage.in(op.weight, op.width);
        staged.y = stage.inout(op.y, floats);
        if (stage.ready()) device_->gated_norm(staged);
        end(stage);
    }
    void moe(const Moe& op) override {
        Staging stage(*device_);
        Moe staged = op;
        const std::vector<FfnMatrices> experts = stage.in(op.experts);
        std::vector<FfnMatrices> shared;
        if (op.shared != nullptr) shared = stage.in(std::span(op.shared, 1));
        staged.experts = experts;
        const std::vector<float> scales = expert_scales_of(op.experts);
        staged.expert_scales = stage.in(scales.data(), std::ssize(scales));
        staged.shared = shared.empty() ? nullptr : shared.data();
        staged.x = stage.in(op.x, int64_t{op.tokens} * op.hidden);
        staged.router_logits = stage.in(op.router_logits, op.tokens * std::ssize(op.experts));
        staged.shared_gate = stage.in(op.shared_gate, op.shared_gate != nullptr ? op.tokens : 0);
        staged.y = stage.inout(op.y, int64_t{op.tokens} * op.hidden);
        if (stage.ready()) device_->moe(staged);
        end(stage);
    }
    void add(const float* x, int64_t count, float* y) override {
        Staging stage(*device_);
        const float* staged_x = stage.in(x, count);
        float* staged_y = stage.inout(y, count);
        if (stage.ready()) device_->add(staged_x, count, staged_y);
        end(stage);
    }
    void gather_columns(const float* x, int tokens, int64_t x_stride, std::span<const int32_t> source,
                        float* y) override {
        Staging stage(*device_);
        const int64_t columns = source.empty() ? 0 : *std::max_element(source.begin(), source.end()) + 1;
        const float* staged_x = stage.in(x, (tokens - 1) * x_stride + columns);
        const int32_t* staged_source = stage.in(source.data(), std::ssize(source));
        float* staged_y = stage.inout(y, tokens * std::ssize(source));
        if (stage.ready())
            device_->gather_columns(staged_x, tokens, x_stride, {staged_source, source.size()}, staged_y);
        end(stage);
    }

  private:
    void end(Staging& stage) { keep(stage.end()); }
    void keep(const Status& status) {
        if (!status && status_) status_ = status;
    }

    HostMemory host_;
    std::unique_ptr<Backend> device_;
    Status status_;
};

}  // namespace

std::unique_ptr<Backend> on_host_arrays(std::unique_ptr<Backend> backend) {
    if (backend == nullptr || backend->memory().on_host()) return backend;
    return std::make_unique<HostArrays>(std::move(backend));
}

}  // namespace octavo
