#include "kernels/split_backend.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "kernels/forwarding_backend.h"
#include "kernels/placed_ffn.h"

namespace octavo {
namespace {

// What the CPU does for one layer and number of tokens. It stays as it was made, for recorded passes come back to it.
struct HostWork {
    Moe op;
    std::function<void()> compute;
};

class SplitBackend final : public ForwardingBackend {
  public:
    SplitBackend(std::unique_ptr<Backend> device, std::unique_ptr<Backend> cpu, const SplitOptions& options)
        : ForwardingBackend(std::move(device)),
          cpu_(std::move(cpu)),
          options_(options),
          memory_(inner().memory(), options.experts_yield) {}
    SplitBackend(const SplitBackend&) = delete;
    SplitBackend& operator=(const SplitBackend&) = delete;
    ~SplitBackend() override { (void)inner().finish(); }  // the CPU may still be at work

    Status start() {
        Memory& memory = inner().memory();
        const int64_t floats = int64_t{options_.streamed_tokens} * (2 * options_.hidden + options_.experts);
        Result<Buffer> shared = memory.allocate_shared(static_cast<size_t>(floats) * sizeof(float),
                                                       "activations that travel between GPU and CPU");
        if (!shared) return shared.error();
        Result<Buffer> slice = memory.allocate(static_cast<size_t>(options_.slice_bytes), "experts that travel");
        if (!slice) return slice.error();
        shared_ = std::move(*shared);
        slice_ = std::move(*slice);
        return {};
    }

    std::string name() const override { return inner().name() + ", with " + cpu_->name(); }
    Memory& memory() override { return memory_; }
    BackendBytes own_bytes() override {
        BackendBytes bytes = inner().own_bytes();
        bytes.scratch += static_cast<int64_t>(slice_.bytes());
        return bytes;
    }
    void repeat(std::span<const uint64_t> key, int64_t first_cell, const std::function<void()>& work) override {
        inner().repeat(key, first_cell, work);
    }
    void start_on_host(const std::function<void()>& work) override { inner().start_on_host(work); }
    void join_host() override { inner().join_host(); }
    void add(const float* x, int64_t count, float* y) override { inner().add(x, count, y); }
    bool samples() const override { return inner().samples(); }
    void sample(const Sampling& op) override { inner().sample(op); }

    void moe(const Moe& op) override {
        if (op.host_experts.empty()) return inner().moe(op);
        if (op.tokens < options_.streamed_tokens) {
            move_activations(op);
        } else {
            move_weights(op);
        }
    }

  private:
    void move_activations(const Moe& op) {
        const int64_t values = int64_t{op.tokens} * op.hidden;
        const int64_t logits = op.tokens * std::ssize(op.host_experts);
        auto* const x = shared_.as<float>();  // [T][hidden]
        float* const y = x + values;          // [T][hidden]
        float* const router_logits = y + values;
        const auto [entry, fresh] = host_works_.try_emplace({op.host_experts.data(), op.tokens});
        HostWork& host = entry->second;
        if (fresh) {
            host.op = op;
            host.op.experts = op.host_experts;
            host.op.host_experts = {};
            host.op.shared = nullptr;
            host.op.shared_gate = nullptr;
            host.op.x = x;
            host.op.y = y;
            host.op.router_logits = router_logits;
            host.compute = [this, &host, values] {
                std::fill_n(host.op.y, values, 0.0f);
                cpu_->moe(host.op);
            };
        }
        Memory& memory = inner().memory();
        memory.copy(x, op.x, static_cast<size_t>(values) * sizeof(float));
        memory.copy(router_logits, op.router_logits, static_cast<size_t>(logits) * sizeof(float));
        inner().start_on_host(host.compute);
        inner().moe(device_part(op));
        inner().join_host();
        inner().add(y, values, op.y);
    }

    void move_weights(const Moe& op) {
        inner().moe(device_part(op));
        std::vector<FfnMatrices> slice;
        for (const FfnMatrices& expert : op.host_experts) slice.push_back(absent_ffn(expert));
        Moe part = device_part(op);
        part.experts = slice;
        part.shared = nullptr;
        const std::vector<FfnMatrices> none = slice;
        int64_t used = 0;
        for (size_t i = 0; i < slice.size(); ++i) {
            if (op.host_experts[i].absent()) continue;
            const int64_t bytes = placed_ffn_bytes(op.host_experts[i]);
            if (used + bytes > options_.slice_bytes) {
                inner().moe(part);
                slice = none;
                used = 0;
            }
            slice[i] = place_ffn(op.host_experts[i], slice_.data() + used, inner().memory());
            used += bytes;
        }
        inner().moe(part);
    }

    static Moe device_part(const Moe& op) {
        Moe part = op;
        part.host_experts = {};
        return part;
    }

    std::unique_ptr<Backend> cpu_;
    SplitOptions options_;
    YieldingMemory memory_;
    // By the layer's experts and the number of tokens; entries stay where they are.
    std::map<std::pair<const FfnMatrices*, int>, HostWork> host_works_;
    Buffer shared_;  // of one layer at a time, for up to streamed_tokens: x, y, router logits
    Buffer slice_;   // in the device's memory
};

}  // namespace

Result<std::unique_ptr<Backend>> make_split_backend(std::unique_ptr<Backend> device, std::unique_ptr<Backend> cpu,
                                                    const SplitOptions& options) {
    auto split = std::make_unique<SplitBackend>(std::move(device), std::move(cpu), options);
    if (Status status = split->start(); !status) return status.error();
    return std::unique_ptr<Backend>(std::move(split));
}

}  // namespace octavo
