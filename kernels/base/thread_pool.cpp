#include "kernels/base/thread_pool.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "kernels/base/cpu_platform.h"

namespace octavo {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kSpinTime = std::chrono::microseconds(80);
// Then workers look on for a while, but let others run in between: a GPU's part of a layer, when a model is shared with
// one, takes a few hundred microseconds, and to wake up takes as long as a small product.
constexpr auto kYieldTime = std::chrono::milliseconds(1);
constexpr int kPausesPerClockCheck = 32;
constexpr size_t kCacheLine = 64;

void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// Spins until done() holds or the spin time is over; says which.
template <class Done>
bool spin_until(Done&& done) {
    const auto deadline = Clock::now() + kSpinTime;
    do {
        for (int i = 0; i < kPausesPerClockCheck; ++i) {
            if (done()) return true;
            pause();
        }
    } while (Clock::now() < deadline);
    return done();
}

template <class Done>
bool yield_until(Done&& done) {
    const auto deadline = Clock::now() + kYieldTime;
    do {
        if (done()) return true;
        std::this_thread::yield();
    } while (Clock::now() < deadline);
    return done();
}

}  // namespace

// One run at a time. The caller writes the plain members, then stores `unclaimed`; a thread that lowers `unclaimed`
// owns one task and may read them until it has counted that task in `finished`. The caller waits for `finished`
// only, so a worker that overslept a run costs nothing, and takes tasks of whichever run it finds.
struct ThreadPool::State {
    Invoke invoke = nullptr;
    void* context = nullptr;
    int count = 0;

    alignas(kCacheLine) std::atomic<int> unclaimed{0};
    alignas(kCacheLine) std::atomic<int> finished{0};
    alignas(kCacheLine) std::atomic<int> sleepers{0};
    std::atomic<bool> stopping{false};
    std::mutex mutex;
    std::condition_variable wake;
    std::vector<std::thread> workers;

    bool has_work() const { return unclaimed.load() > 0 || stopping.load(std::memory_order_relaxed); }

    void take_tasks(int worker) {
        int left = unclaimed.load(std::memory_order_relaxed);
        while (left > 0) {
            if (!unclaimed.compare_exchange_weak(left, left - 1, std::memory_order_acquire,
                                                 std::memory_order_relaxed)) {
                continue;
            }
            invoke(context, count - left, worker);
            finished.fetch_add(1, std::memory_order_release);
            left = unclaimed.load(std::memory_order_relaxed);
        }
    }

    void work(int worker) {
        while (!stopping.load(std::memory_order_relaxed)) {
            if (spin_until([this] { return has_work(); }) || yield_until([this] { return has_work(); })) {
                take_tasks(worker);
            } else {
                sleep();
            }
        }
    }

    // The counter goes up before the last look at `unclaimed`, and the caller stores `unclaimed` before it looks at
    // the counter (both sequentially consistent): one of the two sees the other.
    void sleep() {
        std::unique_lock lock(mutex);
        sleepers.fetch_add(1);
        wake.wait(lock, [this] { return has_work(); });
        sleepers.fetch_sub(1);
    }

    void wake_sleepers() {
        if (sleepers.load() == 0) return;
        const std::lock_guard lock(mutex);
        wake.notify_all();
    }
};

ThreadPool::ThreadPool(int threads) : state_(std::make_unique<State>()) {
    if (threads <= 0) threads = usable_physical_cores();
    try {
        state_->workers.reserve(static_cast<size_t>(threads - 1));
        for (int worker = 1; worker < threads; ++worker) {
            state_->workers.emplace_back([state = state_.get(), worker] { state->work(worker); });
        }
    } catch (const std::system_error&) {
        // The system gives no more threads: work with those there are; threads() says how many.
    }
}

ThreadPool::~ThreadPool() {
    {
        const std::lock_guard lock(state_->mutex);
        state_->stopping.store(true);
    }
    state_->wake.notify_all();
    for (std::thread& worker : state_->workers) worker.join();
}

int ThreadPool::threads() const { return static_cast<int>(state_->workers.size()) + 1; }

void ThreadPool::run_erased(int count, Invoke invoke, void* context) {
    if (count <= 1 || state_->workers.empty()) {
        for (int index = 0; index < count; ++index) invoke(context, index, 0);
        return;
    }
    State& state = *state_;
    state.invoke = invoke;
    state.context = context;
    state.count = count;
    state.finished.store(0, std::memory_order_relaxed);
    state.unclaimed.store(count);
    state.wake_sleepers();
    state.take_tasks(0);
    const auto all_finished = [&] { return state.finished.load(std::memory_order_acquire) == count; };
    if (spin_until(all_finished)) return;
    while (!all_finished()) std::this_thread::yield();
}

}  // namespace octavo
