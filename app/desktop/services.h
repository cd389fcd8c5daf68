// What every controller of the desktop works with, and how it has work done that waits for a disk.
//
// Threads: the interface's, but for what is said to run elsewhere.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "app/desktop/engine_port.h"
#include "app/desktop/inbox.h"
#include "app/desktop/notices.h"
#include "app/desktop/task_thread.h"
#include "app/desktop/token_counts.h"
#include "app/store/store_thread.h"

namespace octavo {

struct Services {
    EnginePort& engine;
    StoreThread& store;
    TokenCounts& counts;
    TaskThread& files;  // whatever reads or writes files
    std::shared_ptr<Inbox> inbox;
    Notices& notices;
    std::function<int64_t()> now_ms;  // since 1970, UTC

    // work(Store&), which returns a Result or a Status, on the store's thread; then(what it returned) back here.
    template <class Work, class Then>
    void ask_store(Work work, Then then) const {
        store.post(std::move(work), [inbox = inbox, then = std::move(then)](auto outcome) mutable {
            inbox->post([outcome = std::move(outcome), then = std::move(then)]() mutable { then(std::move(outcome)); });
        });
    }
    // work() on the thread for files; then(what it returned) back here.
    template <class Work, class Then>
    void ask_files(Work work, Then then) const {
        files.post([inbox = inbox, work = std::move(work), then = std::move(then)]() mutable {
            inbox->post([value = work(), then = std::move(then)]() mutable { then(std::move(value)); });
        });
    }
};

}  // namespace octavo
