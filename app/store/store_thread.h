// The store on a thread of its own. Whoever posts work never waits: opening, migrating, repairing and every write
// happen there, in the order in which they were posted.
//
// Threads: every method may be called from any thread; the destructor works off what was posted, then joins.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "app/store/store.h"

namespace octavo {

class StoreThread {
  public:
    // A reply that comes is written this often, or whenever so many tokens have come.
    static constexpr std::chrono::milliseconds kReplyInterval{250};
    static constexpr size_t kReplyTokens = 64;

    explicit StoreThread(StoreOptions options);
    ~StoreThread();
    StoreThread(const StoreThread&) = delete;
    StoreThread& operator=(const StoreThread&) = delete;

    // Runs work(Store&), which returns a Result or a Status, and then done(what it returned); both on the store's
    // thread, so `done` should only hand the value on.
    template <class Work, class Done>
    void post(Work work, Done done) {
        enqueue([work = std::move(work), done = std::move(done)](const Result<std::unique_ptr<Store>>& store) mutable {
            using Outcome = std::invoke_result_t<Work&, Store&>;
            done(store ? Outcome(work(**store)) : Outcome(store.error()));
        });
    }
    // The same for changes whose result nobody waits for: an error is kept for take_errors().
    template <class Work>
    void post(Work work) {
        post(std::move(work), [this](const auto& outcome) {
            if (!outcome) keep_error(outcome.error());
        });
    }
    // The outcome as a future, for callers that may wait.
    template <class Work>
    std::future<std::invoke_result_t<Work&, Store&>> ask(Work work) {
        auto promise = std::make_shared<std::promise<std::invoke_result_t<Work&, Store&>>>();
        std::future<std::invoke_result_t<Work&, Store&>> future = promise->get_future();
        post(std::move(work),
             [promise](auto&& outcome) { promise->set_value(std::forward<decltype(outcome)>(outcome)); });
        return future;
    }

    // Store::append_reply for the reply that is coming; pieces are gathered (see kReplyInterval) before they are
    // written. Anything posted later finds them written.
    void append_reply(int64_t message_id, ReplyPart part);

    // Errors of posts without `done` and of append_reply since the last call, each sentence once.
    std::vector<Error> take_errors();

  private:
    using Task = std::function<void(const Result<std::unique_ptr<Store>>&)>;
    class Worker;
    void enqueue(Task task);
    void keep_error(const Error& error);

    std::unique_ptr<Worker> worker_;
};

}  // namespace octavo
