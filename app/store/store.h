// The conversation store: one SQLite file with everything that a person would miss.
//
// What is promised
// - A function that changes something returns after its change is on disk (WAL, synchronous), or changes nothing.
// - A reply is appended to as it comes (append_reply), so that a crash costs its last piece only; at the next start it
//   is there as a stopped one.
// - One process writes a file; others read it meanwhile. Opening always gives a store: see open().
// - Bad rows never make a conversation unopenable: see StoredConversation::problems.
//
// Threads: one thread at a time; the functions block for the time of the disk. The interface uses StoreThread.
// Non-goals: rich queries, several writers, encryption, search in attachments and in thinking, and search that takes a
// letter with a combining mark for the precomposed letter (both are kept as they are).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/store/records.h"
#include "app/store/schema.h"
#include "kernels/base/error.h"

namespace octavo {

class Database;
class FileLock;
class Statement;
struct OpenedFile;
struct SearchWords;

// conversations.db in the program's data folder (app/user_folders.h); empty where there is none.
std::filesystem::path default_store_file();

int64_t system_now_ms();  // milliseconds since 1970

struct StoreOptions {
    std::filesystem::path file;  // empty: memory only
    bool read_only = false;      // do not try to write it
    bool named = false;          // by the person: a file that is no database is theirs, not a damaged one of ours
    // For tests.
    std::span<const Migration> migrations = store_migrations();
    std::function<int64_t()> now_ms = system_now_ms;
    const char* vfs = nullptr;  // SQLite's name of a file layer; null: the system's
};

enum class StoreAccess {
    full,
    read_only,  // another instance writes, or the folder cannot be written
    temporary,  // in memory: what is written is lost at the end
};

class Store {
  public:
    static constexpr int64_t kTrashDays = 30;

    // Makes, upgrades or repairs the file as needed. Where it cannot be used as asked, what is possible is opened
    // instead, and a sentence in notices() says why and what to do. An error only where not even memory can be had.
    static Result<std::unique_ptr<Store>> open(const StoreOptions& options);
    ~Store();
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;

    StoreAccess access() const { return access_; }
    const std::vector<std::string>& notices() const { return notices_; }
    const std::filesystem::path& file() const { return file_; }

    // Newest first. `trash`: those in the trash instead.
    Result<std::vector<ConversationSummary>> conversations(bool trash = false);
    Result<int64_t> create_conversation(const Settings& settings = {}, const std::string& title = "");
    Result<ConversationSummary> summary(int64_t id);  // also of one in the trash
    // With all branches, settings and attachments.
    Result<StoredConversation> conversation(int64_t id);
    // Adds a whole conversation (an import) under new ids, in one transaction; returns its id. Times that are 0 are
    // now.
    Result<int64_t> add_conversation(const StoredConversation& conversation);
    Status rename_conversation(int64_t id, const std::string& title);  // empty: as the first message says
    Status trash_conversation(int64_t id);
    Status restore_conversation(int64_t id);
    // Deletes for good what has been in the trash for kTrashDays (0: everything in it), and attachments that nothing
    // uses any more. Returns how many conversations went. Called by open().
    Result<int64_t> empty_trash(int64_t days = kTrashDays);

    // Adds a complete message below message.parent_id (its id, shown_child_id and created_ms are not used) and shows
    // it. One of a person also gives an untitled conversation its title and ends the conversation's draft.
    Result<int64_t> add_message(int64_t conversation_id, const StoredMessage& message);
    // An empty reply in state streaming, shown.
    Result<int64_t> begin_reply(int64_t conversation_id, int64_t parent_id);
    Status append_reply(int64_t message_id, const ReplyPart& part);
    Status finish_reply(int64_t message_id, const FinishedReply& reply);
    // Shows this message, and all before it, among the alternatives at its place.
    Status show_message(int64_t message_id);
    // Deletes a message with all that follow it.
    Status delete_branch(int64_t message_id);

    // conversation_id 0: of the conversation that does not exist yet. An empty draft is deleted.
    Result<Draft> draft(int64_t conversation_id);
    Status save_draft(int64_t conversation_id, const Draft& draft);

    Result<Settings> settings();
    // Keys that `settings` has are written, others stay.
    Status save_settings(const Settings& settings);
    Status save_conversation_settings(int64_t conversation_id, const Settings& settings);

    Result<int64_t> add_recall_run(const RecallRun& run);  // created_ms 0: now
    Result<std::vector<RecallRunSummary>> recall_runs();   // newest first
    Result<RecallRun> recall_run(int64_t id);
    Status delete_recall_run(int64_t id);

    // Messages and titles that have all words of `query`, in any case; text between quotation marks is one word.
    Result<SearchResults> search(const std::string& query, int64_t limit = 50);

  private:
    Store(const StoreOptions& options, OpenedFile opened);

    // Runs work in a transaction; where something is damaged, once more after the search index was made again.
    Status write(const std::function<Status()>& work);
    // The same for a statement about one conversation, which must be there.
    Status change_conversation(int64_t id, const std::function<Status()>& work);
    // After a failure: whether damage is behind it, and the search index, which most of the file is, could be made
    // again.
    bool mend_search_index();
    // After a failure: has a damaged file repaired at the next start.
    void note_damage();
    int64_t now_ms() const { return now_ms_(); }

    static ConversationSummary read_summary(const Statement& row);
    Status collect_all_hits(const SearchWords& words, int64_t limit, SearchResults& results);
    Status count_messages_before(int64_t message_id, SearchResults& results);
    Status collect_hits(const std::string& sql, const SearchWords& words, int64_t limit, SearchResults& results);
    static Error no_conversation(int64_t id);

    // Parts of transactions.
    Result<int64_t> insert_message(int64_t conversation_id, const StoredMessage& message, int64_t created_ms);
    Status show_child(int64_t conversation_id, int64_t parent_id, int64_t child_id);
    Status touch_conversation(int64_t id);
    Status write_conversation_settings(int64_t id, const Settings& settings);

    std::filesystem::path file_;
    StoreAccess access_;
    std::vector<std::string> notices_;
    std::function<int64_t()> now_ms_;
    bool check_requested_ = false;
    std::unique_ptr<FileLock> lock_;  // outlives the database
    std::unique_ptr<Database> database_;
};

}  // namespace octavo
