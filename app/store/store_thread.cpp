#include "app/store/store_thread.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

namespace octavo {

class StoreThread::Worker {
  public:
    explicit Worker(StoreOptions options) : thread_([this, options = std::move(options)] { run(options); }) {}

    // Works off what is there, then ends.
    void finish() {
        {
            const std::lock_guard lock(mutex_);
            ending_ = true;
        }
        wake_.notify_one();
        thread_.join();
    }

    void enqueue(Task task) {
        {
            const std::lock_guard lock(mutex_);
            flush_replies();
            tasks_.push_back(std::move(task));
        }
        wake_.notify_one();
    }

    void append_reply(int64_t message_id, ReplyPart part) {
        {
            const std::lock_guard lock(mutex_);
            if (gathered_.empty()) due_ = Clock::now() + kReplyInterval;
            ReplyPart& gathered = gathered_[message_id];
            gathered.text += part.text;
            gathered.thinking += part.thinking;
            gathered.ids.insert(gathered.ids.end(), part.ids.begin(), part.ids.end());
            if (gathered.ids.size() >= kReplyTokens) flush_replies();
        }
        wake_.notify_one();
    }

    void keep_error(const Error& error) {
        const std::lock_guard lock(mutex_);
        const bool known = std::any_of(errors_.begin(), errors_.end(),
                                       [&](const Error& kept) { return kept.message == error.message; });
        if (!known) errors_.push_back(error);
    }

    std::vector<Error> take_errors() {
        const std::lock_guard lock(mutex_);
        return std::exchange(errors_, {});
    }

  private:
    using Clock = std::chrono::steady_clock;

    // With the lock held.
    void flush_replies() {
        for (auto& [message_id, part] : gathered_)
            tasks_.push_back([this, id = message_id, part = std::move(part)](const auto& store) {
                if (!store) return keep_error(store.error());
                if (const Status done = (*store)->append_reply(id, part); !done) keep_error(done.error());
            });
        gathered_.clear();
    }

    // The next task, once there is one; none: the end.
    std::optional<Task> next() {
        std::unique_lock lock(mutex_);
        while (tasks_.empty()) {
            if (ending_ || (!gathered_.empty() && Clock::now() >= due_)) flush_replies();
            if (!tasks_.empty()) break;
            if (ending_) return std::nullopt;
            if (gathered_.empty())
                wake_.wait(lock);
            else
                wake_.wait_until(lock, due_);
        }
        Task task = std::move(tasks_.front());
        tasks_.pop_front();
        return task;
    }

    void run(const StoreOptions& options) {
        const Result<std::unique_ptr<Store>> store = Store::open(options);
        while (std::optional<Task> task = next()) (*task)(store);
    }

    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<Task> tasks_;
    std::map<int64_t, ReplyPart> gathered_;  // pieces of replies, by message
    Clock::time_point due_;                  // when they are written at the latest
    std::vector<Error> errors_;
    bool ending_ = false;
    std::thread thread_;  // last: it uses the others
};

StoreThread::StoreThread(StoreOptions options) : worker_(std::make_unique<Worker>(std::move(options))) {}
StoreThread::~StoreThread() { worker_->finish(); }

void StoreThread::enqueue(Task task) { worker_->enqueue(std::move(task)); }
void StoreThread::append_reply(int64_t message_id, ReplyPart part) {
    worker_->append_reply(message_id, std::move(part));
}
void StoreThread::keep_error(const Error& error) { worker_->keep_error(error); }
std::vector<Error> StoreThread::take_errors() { return worker_->take_errors(); }

}  // namespace octavo
