// What other threads want done on the interface's thread.
//
// Threads: `post` from any thread; the others on the interface's.
#pragma once

#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace octavo {

class Inbox {
  public:
    using Task = std::function<void()>;

    // `wake` is called, from any thread, when there is something to deliver.
    explicit Inbox(std::function<void()> wake) : wake_(std::move(wake)) {}

    // Dropped once the inbox is closed.
    void post(Task task) {
        const std::lock_guard lock(mutex_);
        if (closed_) return;
        tasks_.push_back(std::move(task));
        wake_();
    }
    void deliver() {
        std::vector<Task> ready;
        {
            const std::lock_guard lock(mutex_);
            ready.swap(tasks_);
        }
        for (const Task& task : ready) task();
    }
    // Whoever the tasks are about goes away; wake is never called again.
    void close() {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        tasks_.clear();
    }

  private:
    std::function<void()> wake_;
    std::mutex mutex_;
    std::vector<Task> tasks_;  // guarded by mutex_
    bool closed_ = false;      // guarded by mutex_
};

}  // namespace octavo
