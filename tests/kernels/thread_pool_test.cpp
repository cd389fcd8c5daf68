#include "kernels/base/thread_pool.h"

#include <gtest/gtest.h>
#include <atomic>
#include <chrono>
#include <set>
#include <thread>
#include <vector>

#include "kernels/base/cpu_platform.h"

namespace octavo {
namespace {

TEST(ThreadPool, RunsEveryTaskOnce) {
    for (const int threads : {1, 2, 3, 8}) {
        ThreadPool pool(threads);
        ASSERT_EQ(pool.threads(), threads);
        for (const int count : {0, 1, 2, 3, 7, 64, 1000}) {
            std::vector<int> calls(static_cast<size_t>(count));  // a task writes only what its number owns
            std::atomic<bool> worker_in_range{true};
            pool.run(count, [&](int index, int worker) {
                ++calls[static_cast<size_t>(index)];
                if (worker < 0 || worker >= threads) worker_in_range = false;
            });
            EXPECT_EQ(calls, std::vector<int>(static_cast<size_t>(count), 1)) << threads << " threads";
            EXPECT_TRUE(worker_in_range);
        }
    }
}

// Many short runs on end: what a task wrote is there when `run` returns, and no worker takes a task of a run that is
// over.
TEST(ThreadPool, RunsThatFollowEachOtherDoNotMix) {
    ThreadPool pool(4);
    std::vector<int> values(5);
    for (int run = 0; run < 20000; ++run) {
        pool.run(5, [&, run](int index, int) { values[static_cast<size_t>(index)] = run; });
        ASSERT_EQ(values, std::vector<int>(5, run));
    }
}

TEST(ThreadPool, WakesUpAfterAPause) {
    ThreadPool pool(2);
    std::atomic<int> tasks{0};
    for (int i = 0; i < 5; ++i) {
        pool.run(2, [&](int, int) { ++tasks; });
        std::this_thread::sleep_for(std::chrono::milliseconds(5));  // far beyond the time that workers spin
    }
    EXPECT_EQ(tasks, 10);
}

// Two tasks that wait for each other: one worker alone would never finish.
TEST(ThreadPool, WorkersRunAtTheSameTime) {
    ThreadPool pool(2);
    for (const bool after_pause : {false, true}) {
        if (after_pause) std::this_thread::sleep_for(std::chrono::milliseconds(5));
        std::atomic<int> arrived{0};
        std::vector<int> workers(2);
        pool.run(2, [&](int index, int worker) {
            ++arrived;
            while (arrived < 2) std::this_thread::yield();
            workers[static_cast<size_t>(index)] = worker;
        });
        EXPECT_EQ(std::set<int>(workers.begin(), workers.end()), (std::set<int>{0, 1}));
    }
}

TEST(ThreadPool, EndsWhileIdle) {
    for (int i = 0; i < 20; ++i) {
        ThreadPool pool(3);
        if (i % 2 == 0) pool.run(3, [](int, int) {});
        if (i % 4 < 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

TEST(ThreadPool, OneThreadRunsInOrderInPlace) {
    ThreadPool pool(1);
    const std::thread::id caller = std::this_thread::get_id();
    std::vector<int> order;
    pool.run(4, [&](int index, int worker) {
        EXPECT_EQ(std::this_thread::get_id(), caller);
        EXPECT_EQ(worker, 0);
        order.push_back(index);
    });
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3}));
}

TEST(ThreadPool, DefaultIsOneThreadPerUsableCore) {
    EXPECT_GE(usable_physical_cores(), 1);
    EXPECT_EQ(ThreadPool().threads(), usable_physical_cores());
}

}  // namespace
}  // namespace octavo
