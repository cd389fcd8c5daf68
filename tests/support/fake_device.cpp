#include "tests/support/fake_device.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "kernels/base/memory_error.h"
#include "kernels/forwarding_backend.h"

namespace octavo::test {
namespace {

constexpr size_t kPageBytes = size_t{256} << 10;

class CountedMemory final : public Memory {
  public:
    explicit CountedMemory(const FakeDeviceOptions& options)
        : most_(static_cast<size_t>(options.budget_bytes > 0 ? std::min(options.budget_bytes, options.device_bytes)
                                                             : options.device_bytes)) {}

    std::string_view place() const override { return "gpu"; }
    bool on_host() const override { return false; }
    size_t free_bytes() const override { return most_ - taken_; }
    size_t page_bytes() const override { return kPageBytes; }
    size_t taken_bytes() const override { return taken_; }
    Status room_for(size_t bytes, const char* what) const override {
        if (bytes <= free_bytes()) return {};
        return not_enough_memory(what, bytes, free_bytes());
    }
    Result<Buffer> allocate(size_t bytes, const char* what) override {
        if (Status status = room_for(bytes, what); !status) return status.error();
        taken_ += bytes;
        return Buffer(new (std::align_val_t{64}) std::byte[bytes], bytes, this,
                      [](void* owner, std::byte* data, size_t size) {
                          static_cast<CountedMemory*>(owner)->taken_ -= size;
                          operator delete[](data, std::align_val_t{64});
                      });
    }
    Result<std::unique_ptr<GrowableRange>> reserve(size_t bytes, const char* what) override {
        Result<std::unique_ptr<GrowableRange>> range = host_.reserve(bytes + kPageBytes, what);
        if (!range) return range.error();
        return std::unique_ptr<GrowableRange>(std::make_unique<CountedRange>(*this, std::move(*range), what));
    }
    void upload(void* to, const void* from, size_t bytes) override { std::memcpy(to, from, bytes); }
    void download(void* to, const void* from, size_t bytes) override { std::memcpy(to, from, bytes); }
    void copy(void* to, const void* from, size_t bytes) override { std::memcpy(to, from, bytes); }
    void clear(void* to, size_t bytes) override { std::memset(to, 0, bytes); }

  private:
    class CountedRange final : public GrowableRange {
      public:
        CountedRange(CountedMemory& memory, std::unique_ptr<GrowableRange> range, const char* what)
            : memory_(memory), range_(std::move(range)), what_(what) {}
        CountedRange(const CountedRange&) = delete;
        CountedRange& operator=(const CountedRange&) = delete;
        ~CountedRange() override { memory_.taken_ -= committed_; }
        Status commit(size_t bytes) override {
            const size_t wanted = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
            if (wanted > committed_) {
                if (Status status = memory_.room_for(wanted - committed_, what_); !status) return status;
            }
            if (Status status = range_->commit(wanted); !status) return status;
            memory_.taken_ = memory_.taken_ - committed_ + wanted;
            committed_ = wanted;
            return {};
        }
        std::byte* data() const override { return range_->data(); }
        size_t committed_bytes() const override { return committed_; }

      private:
        CountedMemory& memory_;
        std::unique_ptr<GrowableRange> range_;
        const char* what_;
        size_t committed_ = 0;
    };

    HostMemory host_;
    size_t most_;
    size_t taken_ = 0;
};

int32_t pick(const Sampling& op) {
    const SamplingRule& rule = op.rule;
    std::vector<float> logits(op.logits, op.logits + op.vocab);
    for (int i = 0; i < op.input->penalised_count; ++i) {
        float& logit = logits[static_cast<size_t>(op.input->penalised[i])];
        logit = penalised_logit(logit, rule.repeat_penalty);
    }
    const auto at = [&](int32_t id) { return logits[static_cast<size_t>(id)]; };
    std::vector<int32_t> ranking(logits.size());
    std::iota(ranking.begin(), ranking.end(), 0);
    std::erase_if(ranking, [&](int32_t id) { return rank_of_logit(at(id)) <= kLeastRank; });
    std::stable_sort(ranking.begin(), ranking.end(), [&](int32_t a, int32_t b) { return at(a) > at(b); });
    if (ranking.empty()) return -1;
    const float best = at(ranking.front());
    if (rule.temperature == 0 || std::isinf(best)) return ranking.front();
    if (rule.top_k > 0) ranking.resize(std::min(ranking.size(), static_cast<size_t>(rule.top_k)));
    const auto weight = [&](int32_t id) { return sampling_weight(at(id), best, rule.temperature); };
    const auto sum = [&] {
        uint64_t total = 0;
        for (const int32_t id : ranking) total += weight(id);
        return total;
    };
    if (rule.top_p < 1) {
        const uint64_t mass = top_p_mass(rule.top_p, sum());
        size_t kept = 0;
        for (uint64_t reached = 0; reached < mass; ++kept) reached += weight(ranking[kept]);
        ranking.resize(kept);
    }
    std::erase_if(ranking, [&](int32_t id) { return rule.min_p > 0 && weight(id) < min_p_weight(rule.min_p); });
    std::sort(ranking.begin(), ranking.end());
    uint64_t unit = drawn_unit(op.input->random, sum());
    size_t drawn = 0;
    while (unit >= weight(ranking[drawn])) unit -= weight(ranking[drawn++]);
    return ranking[drawn];
}

class FakeDevice final : public ForwardingBackend {
  public:
    explicit FakeDevice(const FakeDeviceOptions& options)
        : ForwardingBackend(make_cpu_backend(1, detect_cpu_isa())), memory_(options) {}

    std::string name() const override { return "fake device"; }
    Memory& memory() override { return memory_; }
    BackendBytes own_bytes() override { return {.scratch = static_cast<int64_t>(scratch_.bytes())}; }
    Status finish() override { return std::exchange(refused_, Status()); }
    void matmul(const float* x, int tokens, std::span<const MatmulTarget> targets) override {
        for (const MatmulTarget& target : targets) grow_scratch(tokens * target.w.cols * 2);
        ForwardingBackend::matmul(x, tokens, targets);
    }
    bool samples() const override { return true; }
    void sample(const Sampling& op) override { *op.id = pick(op); }

  private:
    void grow_scratch(int64_t bytes) {
        if (scratch_.bytes() >= static_cast<size_t>(bytes)) return;
        scratch_ = Buffer();
        Result<Buffer> larger = memory_.allocate(static_cast<size_t>(bytes), "scratch memory");
        if (larger) {
            scratch_ = std::move(*larger);
        } else {
            refused_ = larger.error();
        }
    }

    CountedMemory memory_;
    Buffer scratch_;
    Status refused_;
};

}  // namespace

std::unique_ptr<Backend> fake_device(const FakeDeviceOptions& options) { return std::make_unique<FakeDevice>(options); }

}  // namespace octavo::test
