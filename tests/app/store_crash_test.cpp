// The store's process is killed (SIGKILL) at random moments, while a reply streams and while the file is upgraded:
// nothing that was committed may be lost, and the file must stay sound.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "app/store/message_tree.h"
#include "app/store/store_thread.h"
#include "tests/support/forked_child_platform.h"
#include "tests/support/store_samples.h"
#include "tests/support/temporary_folder.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr int kRounds = 6;
constexpr int kRoundsFull = 50;

std::string integrity(const fs::path& file) {
    const Result<Database> database = Database::open(file, Database::Mode::read_write);
    if (!database) return database.error().message;
    std::string words;
    const Status read =
        database->each_row("PRAGMA integrity_check", [&](const Statement& row) { words += row.text(0); });
    return read ? words : read.error().message;
}

// ---- while streaming

// Says "question ID", then "reply ID", then "piece N" as each piece is handed over, about one a millisecond. Every
// second round's pieces have no tokens, so that the clock and not their number decides when they are written.
void stream_until_killed(const fs::path& file, int round, const ForkedChild::Say& say) {
    StoreOptions options;
    options.file = file;
    StoreThread thread(options);
    const auto conversation = thread.ask([](Store& store) { return store.create_conversation(); }).get();
    if (!conversation) return say("error " + conversation.error().message);
    const auto question =
        thread
            .ask([&](Store& store) {
                return store.add_message(*conversation, user_message("question of round " + std::to_string(round)));
            })
            .get();
    if (!question) return say("error " + question.error().message);
    say("question " + std::to_string(*question));
    const auto reply = thread.ask([&](Store& store) { return store.begin_reply(*conversation, *question); }).get();
    if (!reply) return say("error " + reply.error().message);
    say("reply " + std::to_string(*reply));
    for (int piece = 0; true; ++piece) {
        ReplyPart part;
        part.text = "x";
        if (round % 2 == 0) part.ids = {piece};
        thread.append_reply(*reply, std::move(part));
        say("piece " + std::to_string(piece));
        std::this_thread::sleep_for(milliseconds(1));
    }
}

int64_t number_behind(const std::string& line) { return std::stoll(line.substr(line.find(' ') + 1)); }

void expect_streams_survive(int rounds) {
    // Pieces come one a millisecond or slower; the rest is what a write may take on a busy machine.
    constexpr int64_t kMostMissing = StoreThread::kReplyInterval.count() + 250;
    const TemporaryFolder folder;
    const fs::path file = folder / "conversations.db";
    std::mt19937 random(20260101);
    std::map<int64_t, std::string> committed;  // questions
    for (int round = 0; round < rounds; ++round) {
        ForkedChild child([&](const ForkedChild::Say& say) { stream_until_killed(file, round, say); });
        std::this_thread::sleep_for(milliseconds(random() % 700));
        int64_t reply = 0;
        int64_t pieces = 0;
        for (const std::string& line : child.kill_now()) {
            ASSERT_FALSE(line.starts_with("error")) << line;
            if (line.starts_with("question"))
                committed[number_behind(line)] = "question of round " + std::to_string(round);
            if (line.starts_with("reply")) reply = number_behind(line);
            if (line.starts_with("piece")) pieces = number_behind(line) + 1;
        }
        const std::unique_ptr<Store> store = open_store(file);
        ASSERT_EQ(store->access(), StoreAccess::full);
        ASSERT_TRUE(store->notices().empty()) << store->notices().front();
        std::map<int64_t, StoredMessage> found;
        for (const ConversationSummary& summary : value_of(store->conversations()))
            for (const StoredMessage& message : value_of(store->conversation(summary.id)).messages)
                found[message.id] = message;
        for (const auto& [id, text] : committed) ASSERT_EQ(found[id].text, text) << "round " << round;
        if (reply == 0) continue;
        ASSERT_EQ(found[reply].state, MessageState::stopped);
        ASSERT_GE(static_cast<int64_t>(found[reply].text.size()), pieces - kMostMissing) << "round " << round;
        ASSERT_LE(static_cast<int64_t>(found[reply].text.size()), pieces + 1) << "round " << round;
    }
    EXPECT_EQ(integrity(file), "ok");
}

TEST(StoreCrash, KilledWhileStreaming) { expect_streams_survive(kRounds); }
TEST(StoreCrashFull, KilledWhileStreaming) { expect_streams_survive(kRoundsFull); }

// ---- while migrating

constexpr int64_t kMessages = 2000;

std::vector<Migration> two_migrations() {
    return {store_migrations().front(),
            {"ALTER TABLE messages ADD COLUMN text_length INTEGER NOT NULL DEFAULT -1;"
             "UPDATE messages SET text_length = length(text);"
             "CREATE TABLE second_version (id INTEGER PRIMARY KEY, text TEXT NOT NULL);"
             "INSERT INTO second_version (id, text) SELECT id, text FROM messages"}};
}

void make_first_version(const fs::path& file) {
    StoreOptions options;
    options.file = file;
    options.migrations = store_migrations().first(1);
    const std::unique_ptr<Store> store = open_store(options);
    StoredConversation conversation;
    for (int64_t i = 1; i <= kMessages; ++i) {
        StoredMessage message = user_message("message " + std::to_string(i) + std::string(200, '.'), i - 1);
        message.id = i;
        conversation.messages.push_back(message);
    }
    expect_ok(store->add_conversation(conversation));
}

std::unique_ptr<Store> open_second_version(const fs::path& file, const std::vector<Migration>& migrations) {
    StoreOptions options;
    options.file = file;
    options.migrations = migrations;
    return open_store(options);
}

int64_t count(const fs::path& file, const char* sql) {
    const Result<Database> database = Database::open(file, Database::Mode::read_write);
    return database ? value_of(database->value(sql)) : -1;
}

void expect_migrations_survive(int rounds) {
    const TemporaryFolder folder;
    make_first_version(folder / "first.db");
    const fs::path file = folder / "conversations.db";
    const fs::path copy = copy_before_migration(file, 1);
    const std::vector<Migration> migrations = two_migrations();

    const auto start = std::chrono::steady_clock::now();
    fs::copy_file(folder / "first.db", file);
    open_second_version(file, migrations);
    const auto whole = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start);
    ASSERT_EQ(count(file, "PRAGMA user_version"), 2);

    std::mt19937 random(7);
    int in_the_middle = 0;
    for (int round = 0; round < rounds; ++round) {
        for (const char* name : {"conversations.db", "conversations.db-wal", "conversations.db-shm"})
            fs::remove(folder / name);
        fs::remove(copy);
        fs::copy_file(folder / "first.db", file);
        ForkedChild child([&](const ForkedChild::Say& say) {
            say("start");
            open_second_version(file, migrations);
            say("done");
        });
        ASSERT_EQ(child.next_line(), "start");
        std::this_thread::sleep_for(std::chrono::microseconds(random() % whole.count()));
        in_the_middle += child.kill_now().empty() ? 1 : 0;

        ASSERT_EQ(integrity(file), "ok") << "round " << round;
        const int64_t version = count(file, "PRAGMA user_version");
        ASSERT_TRUE(version == 1 || version == 2) << version;
        ASSERT_EQ(count(file, "SELECT count(*) FROM messages"), kMessages);
        ASSERT_EQ(count(file, "SELECT count(*) FROM pragma_table_info('messages') WHERE name = 'text_length'"),
                  version - 1);
        if (fs::exists(copy)) {
            ASSERT_EQ(integrity(copy), "ok");
            ASSERT_EQ(count(copy, "SELECT count(*) FROM messages"), kMessages);
        }
        const std::unique_ptr<Store> store = open_second_version(file, migrations);
        ASSERT_EQ(store->access(), StoreAccess::full);
        ASSERT_TRUE(fs::exists(copy)) << "the file as it was is kept";
        const StoredConversation read = value_of(store->conversation(1));
        ASSERT_EQ(static_cast<int64_t>(read.messages.size()), kMessages);
        ASSERT_EQ(count(file, "SELECT count(*) FROM second_version"), kMessages);
    }
    EXPECT_GT(in_the_middle, 0) << "no round was killed before its end: the test shows nothing";
}

TEST(StoreCrash, KilledWhileMigrating) { expect_migrations_survive(kRounds); }
TEST(StoreCrashFull, KilledWhileMigrating) { expect_migrations_survive(kRoundsFull); }

}  // namespace
}  // namespace octavo
