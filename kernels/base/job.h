// Progress and cancel of one long job (model loading, prefill, conversion, recall run).
//
// Threads: the worker calls `report` and `cancelled`; any thread may call `cancel` and `progress`.
#pragma once

#include <atomic>
#include <cstdint>

namespace octavo {

class Job {
  public:
    struct Progress {
        int64_t done = 0;
        int64_t total = 0;  // 0: not known yet
    };

    void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
    bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }

    void report(int64_t done, int64_t total) {
        total_.store(total, std::memory_order_relaxed);
        done_.store(done, std::memory_order_relaxed);
    }
    Progress progress() const {
        return {done_.load(std::memory_order_relaxed), total_.load(std::memory_order_relaxed)};
    }

  private:
    std::atomic<bool> cancelled_{false};
    std::atomic<int64_t> done_{0};
    std::atomic<int64_t> total_{0};
};

}  // namespace octavo
