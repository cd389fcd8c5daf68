// Opening the store where something is in the way: another instance, a folder that cannot be written, a full disk,
// damage, bad rows, other versions. There is always a sentence, and a way on.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "app/store/message_tree.h"
#include "tests/support/failing_disk.h"
#include "tests/support/store_samples.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/text_files.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;
using test::file_text;

constexpr int kConversations = 40;
constexpr int kMessagesEach = 10;

std::string long_text(int conversation, int message) {
    std::string text = "message " + std::to_string(message) + " of conversation " + std::to_string(conversation) + ": ";
    while (text.size() < 900) text += "the harbour was quiet and the boats came home before the evening. ";
    return text;
}

void fill(Store& store) {
    for (int c = 0; c < kConversations; ++c) {
        StoredConversation conversation;
        conversation.summary.title = "conversation " + std::to_string(c);
        for (int m = 1; m <= kMessagesEach; ++m) {
            StoredMessage message = user_message(long_text(c, m), m - 1);
            message.id = m;
            conversation.messages.push_back(message);
        }
        expect_ok(store.add_conversation(conversation));
    }
}

struct Counted {
    int conversations = 0;
    int messages = 0;
    int problems = 0;
};

Counted count_all(Store& store) {
    Counted counted;
    const auto list = store.conversations();
    if (!list) return counted;
    for (const ConversationSummary& summary : *list) {
        ++counted.conversations;
        const StoredConversation whole = value_of(store.conversation(summary.id));
        counted.messages += static_cast<int>(whole.messages.size());
        counted.problems += static_cast<int>(whole.problems.size());
    }
    return counted;
}

void overwrite(const fs::path& file, int64_t offset, size_t bytes) {
    std::fstream out(file, std::ios::binary | std::ios::in | std::ios::out);
    out.seekp(offset);
    out << std::string(bytes, '\xa5');
}

// SQL on the file as such, past all that protects it.
void execute(const fs::path& file, const char* sql) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(file.c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
    sqlite3_close(database);
}

// Pages with rows of a table, in order; numbers from 1.
std::vector<int64_t> leaf_pages(const fs::path& file, const std::string& table) {
    const Result<Database> database = Database::open(file, Database::Mode::read_write);
    std::vector<int64_t> pages;
    expect_ok(database->each_row(
        "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path",
        [&](const Statement& row) { pages.push_back(row.integer(0)); }, table));
    return pages;
}

std::vector<fs::path> damaged_files(const TemporaryFolder& folder) {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(folder.path())) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with("conversations-damaged-") && name.ends_with(".db")) found.push_back(entry.path());
    }
    return found;
}

bool mentions(const std::vector<std::string>& notices, const std::string& words) {
    return std::any_of(notices.begin(), notices.end(),
                       [&](const std::string& notice) { return notice.find(words) != std::string::npos; });
}

class StoreOpen : public testing::Test {
  protected:
    void make_file() { fill(*open_store(file_)); }

    TemporaryFolder folder_;
    fs::path file_ = folder_ / "conversations.db";
};

class StoreOpenFull : public StoreOpen {};

TEST_F(StoreOpen, ASecondInstanceIsToldAndReads) {
    const std::unique_ptr<Store> first = open_store(file_);
    const int64_t id = value_of(first->create_conversation({}, "open elsewhere"));
    const std::unique_ptr<Store> second = open_store(file_);
    EXPECT_EQ(second->access(), StoreAccess::read_only);
    EXPECT_TRUE(mentions(second->notices(), "Another Octavo (process "));
    expect_ok(first->add_message(id, user_message("written after the other was opened")));
    EXPECT_EQ(value_of(second->conversation(id)).messages.size(), 1u);
    EXPECT_EQ(value_of(second->search("written after")).hits.size(), 1u);
    const Result<int64_t> refused = second->add_message(id, user_message("lost?"));
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("can only be read"), std::string::npos) << refused.error().message;
}

TEST_F(StoreOpen, ReadOnlyNeedsNoLock) {
    make_file();
    const std::unique_ptr<Store> writer = open_store(file_);
    StoreOptions options;
    options.file = file_;
    options.read_only = true;
    const std::unique_ptr<Store> reader = open_store(options);
    EXPECT_EQ(reader->access(), StoreAccess::read_only);
    EXPECT_TRUE(reader->notices().empty());
    EXPECT_EQ(count_all(*reader).conversations, kConversations);
}

TEST_F(StoreOpen, NewInAPlaceThatCannotBeWrittenIsTemporary) {
    std::ofstream(folder_ / "file") << "in the way";
    const std::unique_ptr<Store> store = open_store(folder_ / "file" / "conversations.db");
    EXPECT_EQ(store->access(), StoreAccess::temporary);
    EXPECT_TRUE(mentions(store->notices(), "nothing is saved"));
    expect_ok(store->create_conversation());
}

// Nothing can be made beside the file: folders stand where SQLite and the lock want files.
TEST_F(StoreOpen, APlaceThatCannotBeWrittenIsRead) {
    make_file();
    fs::remove(folder_ / "conversations.db.lock");
    for (const char* name : {"conversations.db.lock", "conversations.db-shm"}) fs::create_directory(folder_ / name);
    const std::unique_ptr<Store> store = open_store(file_);
    EXPECT_EQ(store->access(), StoreAccess::read_only);
    EXPECT_TRUE(mentions(store->notices(), "Nothing can be written at"));
    EXPECT_EQ(count_all(*store).messages, kConversations * kMessagesEach);
    EXPECT_FALSE(store->create_conversation());
}

TEST_F(StoreOpen, AFileOfANewerVersionIsLeftAlone) {
    make_file();
    execute(file_, "PRAGMA user_version = 99");
    const std::optional<std::string> before = file_text(file_);
    {
        const std::unique_ptr<Store> store = open_store(file_);
        EXPECT_EQ(store->access(), StoreAccess::temporary);
        EXPECT_TRUE(mentions(store->notices(), "newer Octavo"));
    }
    EXPECT_EQ(file_text(file_), before);
}

TEST_F(StoreOpen, AFileOfAnotherKindIsKeptUnderAnotherName) {
    const std::string text = std::string(10'000, 'x') + "not a database";
    std::ofstream(file_) << text;
    const std::unique_ptr<Store> store = open_store(file_);
    EXPECT_EQ(store->access(), StoreAccess::full);
    EXPECT_TRUE(mentions(store->notices(), "was damaged: 0 conversations"));
    ASSERT_EQ(damaged_files(folder_).size(), 1u);
    EXPECT_EQ(file_text(damaged_files(folder_)[0]), text);
    expect_ok(store->create_conversation());
}

TEST_F(StoreOpen, AFileOfAnotherKindThatAPersonNamesIsLeftAlone) {
    const std::string text = "my notes, not a database";
    std::ofstream(file_) << text;
    StoreOptions options;
    options.file = file_;
    options.named = true;
    for (const bool read_only : {false, true}) {
        options.read_only = read_only;
        const std::unique_ptr<Store> store = open_store(options);
        EXPECT_EQ(store->access(), StoreAccess::temporary);
        EXPECT_TRUE(mentions(store->notices(), "is no file of conversations"));
    }
    EXPECT_EQ(file_text(file_), text);
    EXPECT_TRUE(damaged_files(folder_).empty());
}

TEST_F(StoreOpen, ADatabaseOfAnotherProgramIsLeftAlone) {
    for (const char* sql : {"CREATE TABLE bookmarks (url TEXT)", "CREATE TABLE conversations (who TEXT)",
                            "CREATE TABLE conversations (who TEXT); PRAGMA user_version = 3",
                            "CREATE TABLE messages (text TEXT); PRAGMA user_version = 1"}) {
        SCOPED_TRACE(sql);
        fs::remove(file_);
        execute(file_, sql);
        const std::optional<std::string> before = file_text(file_);
        {
            const std::unique_ptr<Store> store = open_store(file_);
            EXPECT_EQ(store->access(), StoreAccess::temporary);
            EXPECT_TRUE(mentions(store->notices(), "of another program"));
        }
        EXPECT_EQ(file_text(file_), before);
    }
}

TEST_F(StoreOpen, ADamagedPageCostsOnlyItsRows) {
    make_file();
    const std::vector<int64_t> pages = leaf_pages(file_, "messages");
    ASSERT_GT(pages.size(), 50u);
    for (const size_t at : {size_t{0}, pages.size() / 2, pages.size() - 1})
        overwrite(file_, (pages[at] - 1) * 4096, 4096);
    {
        const std::unique_ptr<Store> store = open_store(file_);
        ASSERT_EQ(store->access(), StoreAccess::full);
        const Counted counted = count_all(*store);
        EXPECT_EQ(counted.conversations, kConversations) << "all can be opened";
        EXPECT_GT(counted.problems, 0) << "and some say what is wrong";
    }
    const std::unique_ptr<Store> store = open_store(file_);
    ASSERT_EQ(store->access(), StoreAccess::full);
    EXPECT_TRUE(mentions(store->notices(), "was damaged: 40 conversations"));
    EXPECT_EQ(damaged_files(folder_).size(), 1u);
    const Counted counted = count_all(*store);
    EXPECT_EQ(counted.conversations, kConversations);
    EXPECT_EQ(counted.problems, 0);
    EXPECT_GE(counted.messages, kConversations * kMessagesEach - 3 * 4) << "a page has at most four of these rows";
    EXPECT_LT(counted.messages, kConversations * kMessagesEach);
    EXPECT_EQ(value_of(store->search("conversation")).hits.size(), 40u);
    expect_ok(store->create_conversation());
}

// A page that nothing reads may stay unnoticed for a while; once it is met, the next start repairs it.
void expect_way_on(const fs::path& file, int samples) {
    const std::optional<std::string> whole = file_text(file);
    const auto pages = static_cast<int64_t>(whole->size() / 4096);
    for (int64_t page = 0; page < pages; page += std::max<int64_t>(1, pages / samples)) {
        std::ofstream(file, std::ios::binary) << *whole;
        overwrite(file, page * 4096, 4096);
        bool saved_before = true;
        for (int start = 0; start < 4; ++start) {
            const std::unique_ptr<Store> store = open_store(file);
            ASSERT_NE(store, nullptr);
            ASSERT_EQ(store->access(), StoreAccess::full) << "page " << page << ": " << store->notices().front();
            count_all(*store);
            (void)store->search("harbour");
            const Result<int64_t> added = store->create_conversation();
            const bool saved = added && store->add_message(*added, user_message("after the damage"));
            EXPECT_TRUE(saved || saved_before) << "page " << page << ", start " << start;
            saved_before = saved;
        }
    }
}

TEST_F(StoreOpen, AnyDamagedPageLeavesAWayOn) {
    make_file();
    expect_way_on(file_, 4);
}

TEST_F(StoreOpenFull, AnyDamagedPageLeavesAWayOn) {
    make_file();
    expect_way_on(file_, 60);
}

TEST_F(StoreOpen, ATruncatedFileGivesWhatIsLeft) {
    make_file();
    fs::resize_file(file_, fs::file_size(file_) / 2);
    for (int start = 0; start < 2; ++start) count_all(*open_store(file_));
    const std::unique_ptr<Store> store = open_store(file_);
    EXPECT_EQ(store->access(), StoreAccess::full);
    EXPECT_EQ(damaged_files(folder_).size(), 1u);
    EXPECT_GT(count_all(*store).messages, 0);
    expect_ok(store->create_conversation());
}

TEST_F(StoreOpen, BadRowsNeverMakeAConversationUnopenable) {
    make_file();
    execute(file_,
            "UPDATE messages SET role = 'wizard' WHERE id = 2;"
            "UPDATE messages SET state = 'unheard of', ids = x'010203' WHERE id = 3;"
            "UPDATE messages SET figures = '{\"prompt_tokens\": \"many\", ' WHERE id = 4;"
            "UPDATE messages SET parent_id = 9 WHERE id = 5;"
            "UPDATE messages SET parent_id = 5 WHERE id = 9;"
            "UPDATE messages SET shown_child_id = 12345 WHERE id = 1;"
            "UPDATE messages SET text = CAST(x'ff00fe' AS TEXT) WHERE id = 6;"
            "UPDATE conversations SET shown_root_id = -3 WHERE id = 1;"
            "INSERT INTO conversation_settings (conversation_id, key, value) VALUES (1, 'kv', '{nonsense');"
            "INSERT INTO message_attachments (message_id, attachment_id, name) VALUES (1, 77, 'lost.txt');");
    const std::unique_ptr<Store> store = open_store(file_);
    EXPECT_EQ(store->access(), StoreAccess::full);
    const StoredConversation whole = value_of(store->conversation(1));
    EXPECT_EQ(whole.messages.size(), 10u);
    EXPECT_EQ(whole.problems.size(), 3u);
    EXPECT_FALSE(shown_messages(whole).empty());
    EXPECT_EQ(whole.settings.text("kv"), std::nullopt);
    EXPECT_EQ(whole.messages[5].text, std::string("\xff\0\xfe", 3));
    EXPECT_EQ(count_all(*store).messages, kConversations * kMessagesEach);
}

TEST_F(StoreOpen, ASearchIndexThatCannotEvenBeOpenedIsMadeAgainAtTheNextStart) {
    make_file();
    execute(file_, "DELETE FROM message_search_data");
    EXPECT_FALSE(open_store(file_)->add_message(1, user_message("an albatross")));
    const std::unique_ptr<Store> store = open_store(file_);
    EXPECT_TRUE(mentions(store->notices(), "was damaged: 40 conversations with 400 messages"));
    expect_ok(store->add_message(1, user_message("an albatross")));
    EXPECT_EQ(value_of(store->search("albatross")).hits.size(), 1u);
}

TEST_F(StoreOpen, ADamagedSearchIndexIsMadeAgain) {
    make_file();
    execute(file_, "DELETE FROM message_search_data WHERE id > 10");  // 1 and 10: what there should be
    const std::unique_ptr<Store> store = open_store(file_);
    const int64_t id = value_of(store->create_conversation());
    expect_ok(store->add_message(id, user_message("an albatross")));
    expect_ok(store->delete_branch(1));  // takes words out of the index
    EXPECT_EQ(value_of(store->search("albatross")).hits.size(), 1u);
    EXPECT_EQ(value_of(store->search("boats came home")).hits.size(), static_cast<size_t>(kConversations - 1));
}

// ---- full disk

TEST_F(StoreOpen, AFullDiskLosesNothingThatWasSaved) {
    for (const int64_t room : {20'000, 60'000, 150'000, 400'000}) {
        for (const char* name : {"conversations.db", "conversations.db-wal", "conversations.db-shm"})
            fs::remove(folder_ / name);
        FailingDisk disk;
        StoreOptions options;
        options.file = file_;
        options.vfs = disk.name();
        std::vector<std::string> saved;
        std::vector<std::string> refused;
        {
            const std::unique_ptr<Store> store = open_store(options);
            ASSERT_EQ(store->access(), StoreAccess::full);
            const int64_t id = value_of(store->create_conversation());
            disk.set_free_bytes(room);
            for (int i = 0; i < 200 && refused.size() < 5; ++i) {
                const Result<int64_t> added = store->add_message(id, user_message(long_text(0, i)));
                (added ? saved : refused).push_back(added ? long_text(0, i) : added.error().message);
            }
            ASSERT_FALSE(refused.empty());
            EXPECT_NE(refused[0].find("disk is full"), std::string::npos) << refused[0];
            EXPECT_EQ(value_of(store->conversation(id)).messages.size(), saved.size()) << "it goes on";
            disk.set_free_bytes(FailingDisk::kUnlimited);
            expect_ok(store->add_message(id, user_message("there is room again")));
            saved.push_back("there is room again");
        }
        const std::unique_ptr<Store> store = open_store(file_);
        const StoredConversation whole = value_of(store->conversation(1));
        ASSERT_EQ(whole.messages.size(), saved.size());
        for (size_t i = 0; i < saved.size(); ++i) EXPECT_EQ(whole.messages[i].text, saved[i]);
        const Result<Database> raw = Database::open(file_, Database::Mode::read_write);
        expect_ok(raw->each_row("PRAGMA integrity_check", [](const Statement& row) { EXPECT_EQ(row.text(0), "ok"); }));
    }
}

TEST_F(StoreOpen, AFullDiskAtTheFirstStartIsToldAndGoesOnInMemory) {
    FailingDisk disk;
    disk.set_free_bytes(5000);
    StoreOptions options;
    options.file = file_;
    options.vfs = disk.name();
    {
        const std::unique_ptr<Store> store = open_store(options);
        EXPECT_EQ(store->access(), StoreAccess::temporary);
        EXPECT_TRUE(mentions(store->notices(), "disk is full")) << store->notices().front();
        expect_ok(store->create_conversation());
    }
    disk.set_free_bytes(FailingDisk::kUnlimited);
    EXPECT_EQ(open_store(options)->access(), StoreAccess::full);
}

TEST_F(StoreOpen, AnUpgradeThatHasNoRoomChangesNothing) {
    make_file();
    const std::vector<Migration> migrations = {store_migrations().front(),
                                               {"CREATE TABLE twice AS SELECT * FROM messages"}};
    FailingDisk disk;
    StoreOptions options;
    options.file = file_;
    options.vfs = disk.name();
    options.migrations = migrations;
    // First the copy has no room, then the upgrade itself.
    for (const double share : {0.5, 1.2}) {
        disk.set_free_bytes(static_cast<int64_t>(static_cast<double>(fs::file_size(file_)) * share));
        const std::unique_ptr<Store> store = open_store(options);
        EXPECT_NE(store->access(), StoreAccess::full);
        EXPECT_TRUE(mentions(store->notices(), "disk is full"));
    }
    disk.set_free_bytes(FailingDisk::kUnlimited);
    EXPECT_EQ(count_all(*open_store(file_)).messages, kConversations * kMessagesEach) << "still of the old version";
    const std::unique_ptr<Store> store = open_store(options);
    EXPECT_EQ(store->access(), StoreAccess::full);
    EXPECT_EQ(count_all(*store).messages, kConversations * kMessagesEach);
    EXPECT_TRUE(fs::exists(copy_before_migration(file_, 1)));
}

}  // namespace
}  // namespace octavo
