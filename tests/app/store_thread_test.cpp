// The store on its own thread: order, results, gathered pieces, and that nobody waits.
#include "app/store/store_thread.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/failing_disk.h"
#include "tests/support/store_samples.h"
#include "tests/support/temporary_folder.h"

namespace octavo {
namespace {

class StoreThreadTest : public testing::Test {
  protected:
    StoreOptions options() const {
        StoreOptions options;
        options.file = folder_ / "conversations.db";
        return options;
    }
    TemporaryFolder folder_;
};

TEST_F(StoreThreadTest, WorksInOrderAndEndsOnlyWhenAllIsDone) {
    std::vector<int> order;  // of the store's thread
    int64_t conversation = 0;
    {
        StoreThread thread(options());
        conversation = value_of(thread.ask([](Store& store) { return store.create_conversation(); }).get());
        for (int i = 0; i < 50; ++i)
            thread.post(
                [=](Store& store) {
                    return store.save_draft(conversation, {std::to_string(i), {}});
                },
                [&order, i](const Status& status) {
                    expect_ok(status);
                    order.push_back(i);
                });
    }
    ASSERT_EQ(order.size(), 50u);
    for (int i = 0; i < 50; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
    EXPECT_EQ(value_of(open_store(options())->draft(conversation)).text, "49");
}

TEST_F(StoreThreadTest, PostingNeverWaitsForTheStore) {
    std::promise<void> gate;
    StoreThread thread(options());
    thread.post([&](Store&) {
        gate.get_future().wait();
        return Status();
    });
    // Would never come here if one of these waited.
    for (int i = 0; i < 1000; ++i) {
        thread.post([](Store& store) { return store.save_settings({}); });
        thread.append_reply(1, {"x", "", {i}});
        (void)thread.take_errors();
    }
    gate.set_value();
}

TEST_F(StoreThreadTest, WhatComesAfterAPieceFindsItWritten) {
    StoreThread thread(options());
    const int64_t conversation = value_of(thread.ask([](Store& store) { return store.create_conversation(); }).get());
    const int64_t reply = value_of(thread.ask([&](Store& store) { return store.begin_reply(conversation, 0); }).get());
    for (const char* piece : {"a", "b", "c"}) thread.append_reply(reply, {piece, "t", {7}});
    const StoredConversation whole =
        value_of(thread.ask([&](Store& store) { return store.conversation(conversation); }).get());
    ASSERT_EQ(whole.messages.size(), 1u);
    EXPECT_EQ(whole.messages[0].text, "abc");
    EXPECT_EQ(whole.messages[0].thinking, "ttt");
    EXPECT_EQ(whole.messages[0].ids, (std::vector<int32_t>{7, 7, 7}));
}

TEST_F(StoreThreadTest, PiecesAreWrittenWithoutAnythingElseHappening) {
    StoreThread thread(options());
    const int64_t conversation = value_of(thread.ask([](Store& store) { return store.create_conversation(); }).get());
    const int64_t reply = value_of(thread.ask([&](Store& store) { return store.begin_reply(conversation, 0); }).get());
    StoreOptions other = options();
    other.read_only = true;
    const std::unique_ptr<Store> reader = open_store(other);
    thread.append_reply(reply, {"by the clock", "", {1}});
    const auto text = [&] { return value_of(reader->conversation(conversation)).messages.at(0).text; };
    while (text().empty()) std::this_thread::sleep_for(std::chrono::milliseconds(5));  // the test's own limit ends it
    EXPECT_EQ(text(), "by the clock");
}

TEST_F(StoreThreadTest, ErrorsAreKeptAsValuesEachOnce) {
    FailingDisk disk;
    StoreOptions failing = options();
    failing.vfs = disk.name();
    StoreThread thread(failing);
    const int64_t id = value_of(thread.ask([](Store& store) { return store.create_conversation(); }).get());
    disk.set_free_bytes(0);
    const std::string text(100'000, 'x');
    for (int i = 0; i < 5; ++i)
        thread.post([=](Store& store) -> Status {
            const Result<int64_t> added = store.add_message(id, user_message(text));
            return added ? Status() : added.error();
        });
    expect_ok(thread.ask([](Store& store) { return store.conversations(); }).get());
    const std::vector<Error> errors = thread.take_errors();
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_NE(errors[0].message.find("disk is full"), std::string::npos) << errors[0].message;
    EXPECT_TRUE(thread.take_errors().empty());
    disk.set_free_bytes(FailingDisk::kUnlimited);
}

}  // namespace
}  // namespace octavo
