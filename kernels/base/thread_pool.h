// A pool of workers for one caller: `run` hands out numbered tasks and returns when all are done. Between two calls
// that follow each other closely the workers spin (a decode step is hundreds of short calls); after a pause they
// sleep.
//
// Determinism: which worker takes a task is not fixed, so a task must write only what its own number owns.
// Threads: one thread calls `run` at a time; tasks must not call `run`.
#pragma once

#include <memory>
#include <type_traits>

namespace octavo {

class ThreadPool {
  public:
    // `threads` counts the caller; 1 runs everything in place. 0: one per physical core this process may use.
    explicit ThreadPool(int threads = 0);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    int threads() const;

    // Calls task(index, worker) for every index in [0, count); worker is in [0, threads()).
    template <class Task>
    void run(int count, Task&& task) {
        using Plain = std::remove_reference_t<Task>;
        run_erased(
            count, [](void* context, int index, int worker) { (*static_cast<Plain*>(context))(index, worker); },
            const_cast<void*>(static_cast<const void*>(&task)));
    }

  private:
    using Invoke = void (*)(void* context, int index, int worker);
    void run_erased(int count, Invoke invoke, void* context);

    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace octavo
