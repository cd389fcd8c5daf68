// One thread that works through tasks in the order in which they came.
//
// Threads: `post` may be called from any thread and never waits. The destructor finishes the running task, drops the
// others and waits for the thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace octavo {

class TaskThread {
  public:
    TaskThread() : thread_([this] { work(); }) {}
    TaskThread(const TaskThread&) = delete;
    TaskThread& operator=(const TaskThread&) = delete;
    ~TaskThread();

    void post(std::function<void()> task);

  private:
    void work();

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> tasks_;  // guarded by mutex_
    bool stopping_ = false;                    // guarded by mutex_
    std::thread thread_;                       // last: it uses the others
};

}  // namespace octavo
