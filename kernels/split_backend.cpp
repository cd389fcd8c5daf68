#include "kernels/split_backend.h"

#include <algorithm>
#include <map>
#include <utility>

#include "kernels/expert_stream.h"
#include "kernels/forwarding_backend.h"

namespace octavo {
namespace {

// What the CPU does for one layer and number of tokens. It stays as it was made, for recorded passes come back to it.
struct HostWork {
    Moe op;
    std::function<void()> compute;
};

// Of one layer, for the most tokens whose activations travel: x, y, router logits.
int64_t shared_bytes(const SplitOptions& options) {
    const int64_t floats = int64_t{options.streamed_tokens} * (2 * options.hidden + options.experts);
    return floats * static_cast<int64_t>(sizeof(float));
}

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
        Result<Buffer> shared = inner().memory().allocate_shared(static_cast<size_t>(shared_bytes(options_)),
                                                                 "activations that travel between GPU and CPU");
        if (!shared) return shared.error();
        Result<std::unique_ptr<ExpertStream>> stream =
            ExpertStream::create(inner(), {options_.slice_bytes, options_.threads, options_.uploads});
        if (!stream) return stream.error();
        shared_ = std::move(*shared);
        stream_ = std::move(*stream);
        return {};
    }

    std::string name() const override { return inner().name() + ", with " + cpu_->name(); }
    Memory& memory() override { return memory_; }
    BackendBytes own_bytes() override {
        BackendBytes bytes = inner().own_bytes();
        bytes.scratch += stream_->device_bytes();
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
        Moe part = op;
        part.experts = op.host_experts;
        stream_->moe(part);
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
    Buffer shared_;  // [shared_bytes]
    std::unique_ptr<ExpertStream> stream_;
};

}  // namespace

int64_t split_host_bytes(const SplitOptions& options) {
    return shared_bytes(options) + static_cast<int64_t>(options.uploads.staging_bytes());
}

Result<std::unique_ptr<Backend>> make_split_backend(std::unique_ptr<Backend> device, std::unique_ptr<Backend> cpu,
                                                    const SplitOptions& options) {
    auto split = std::make_unique<SplitBackend>(std::move(device), std::move(cpu), options);
    if (Status status = split->start(); !status) return status.error();
    return std::unique_ptr<Backend>(std::move(split));
}

}  // namespace octavo
