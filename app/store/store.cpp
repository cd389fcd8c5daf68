#include "app/store/store.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "app/store/attachments.h"
#include "app/store/file_lock_platform.h"
#include "app/store/open_file.h"
#include "app/store/reply_parts.h"
#include "app/store/sqlite.h"
#include "app/store/title.h"
#include "app/user_folders.h"

namespace octavo {
namespace {

constexpr const char* kSummaryColumns = "id, title, titled_by_person, created_ms, updated_ms, deleted_ms";

}  // namespace

int64_t system_now_ms() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

std::filesystem::path default_store_file() {
    const std::filesystem::path folder = user_data_folder();
    return folder.empty() ? folder : folder / "conversations.db";
}

Result<std::unique_ptr<Store>> Store::open(const StoreOptions& options) {
    Result<OpenedFile> opened = open_store_file(options);
    if (!opened) return opened.error();
    std::unique_ptr<Store> store(new Store(options, std::move(*opened)));
    if (store->access_ != StoreAccess::full) return store;
    // Neither is worth a start without the store.
    if (const Status done = store->write([&] { return finish_interrupted_replies(*store->database_); }); !done)
        store->notices_.push_back(done.error().message);
    if (const Result<int64_t> emptied = store->empty_trash(); !emptied)
        store->notices_.push_back(emptied.error().message);
    return store;
}

Store::Store(const StoreOptions& options, OpenedFile opened)
    : file_(options.file),
      access_(opened.access),
      notices_(std::move(opened.notices)),
      now_ms_(options.now_ms),
      lock_(std::move(opened.lock)),
      database_(std::make_unique<Database>(std::move(opened.database))) {}

Store::~Store() = default;

Status Store::write(const std::function<Status()>& work) {
    Status status = database_->transact(work);
    if (!status && mend_search_index()) status = database_->transact(work);
    if (!status) note_damage();
    return status;
}

bool Store::mend_search_index() {
    const bool worth_it = access_ == StoreAccess::full && !check_requested_ && database_->is_damaged();
    if (!worth_it) return false;
    note_damage();  // in case it takes more than that
    return static_cast<bool>(rebuild_search_index(*database_));
}

void Store::note_damage() {
    if (check_requested_ || access_ == StoreAccess::temporary || !database_->is_damaged()) return;
    check_requested_ = static_cast<bool>(request_check(file_));
}

ConversationSummary Store::read_summary(const Statement& row) {
    ConversationSummary summary;
    summary.id = row.integer(0);
    summary.title = row.text(1);
    summary.titled_by_person = row.integer(2) != 0;
    summary.created_ms = row.integer(3);
    summary.updated_ms = row.integer(4);
    summary.deleted_ms = row.integer(5);
    return summary;
}

Result<std::vector<ConversationSummary>> Store::conversations(bool trash) {
    std::vector<ConversationSummary> summaries;
    const Status read = database_->each_row(
        fmt::format("SELECT {} FROM conversations WHERE deleted_ms {} 0 ORDER BY updated_ms DESC, id DESC",
                    kSummaryColumns, trash ? ">" : "="),
        [&](const Statement& row) { summaries.push_back(read_summary(row)); });
    if (read) return summaries;
    note_damage();
    return read.error();
}

Result<ConversationSummary> Store::summary(int64_t id) {
    Result<Statement> row =
        database_->prepare(fmt::format("SELECT {} FROM conversations WHERE id = ?", kSummaryColumns));
    if (!row) return row.error();
    const Result<bool> found = row->bind(id).step();
    if (!found) return found.error();
    if (!*found) return no_conversation(id);
    return read_summary(*row);
}

Error Store::no_conversation(int64_t id) { return {ErrorKind::usage, fmt::format("There is no conversation {}.", id)}; }

Result<int64_t> Store::create_conversation(const Settings& settings, const std::string& title) {
    int64_t id = 0;
    const Status written = write([&]() -> Status {
        const int64_t now = now_ms();
        if (const Status done =
                database_->run("INSERT INTO conversations (title, titled_by_person, created_ms, updated_ms) "
                               "VALUES (?, ?, ?, ?)",
                               title, !title.empty(), now, now);
            !done)
            return done;
        id = database_->last_row_id();
        return write_conversation_settings(id, settings);
    });
    if (!written) return written.error();
    return id;
}

Status Store::change_conversation(int64_t id, const std::function<Status()>& work) {
    return write([&]() -> Status {
        if (const Status done = work(); !done) return done;
        return database_->changed_rows() == 0 ? Status(no_conversation(id)) : Status();
    });
}

Status Store::rename_conversation(int64_t id, const std::string& title) {
    std::string shown = title;
    if (title.empty()) {
        const Result<StoredConversation> whole = conversation(id);
        if (!whole) return whole.error();
        shown = title_of(*whole);
    }
    return change_conversation(id, [&] {
        return database_->run("UPDATE conversations SET title = ?, titled_by_person = ? WHERE id = ?", shown,
                              !title.empty(), id);
    });
}

Status Store::trash_conversation(int64_t id) {
    return change_conversation(
        id, [&] { return database_->run("UPDATE conversations SET deleted_ms = ? WHERE id = ?", now_ms(), id); });
}

Status Store::restore_conversation(int64_t id) {
    return change_conversation(
        id, [&] { return database_->run("UPDATE conversations SET deleted_ms = 0 WHERE id = ?", id); });
}

Result<int64_t> Store::empty_trash(int64_t days) {
    constexpr int64_t kDayMs = 24 * 60 * 60 * 1000;
    const int64_t before = now_ms() - days * kDayMs;
    const Result<int64_t> due =
        database_->value("SELECT count(*) FROM conversations WHERE deleted_ms > 0 AND deleted_ms <= ?", before);
    if (!due) return due;
    const Status written = write([&]() -> Status {
        for (const char* sql : {
                 "DELETE FROM drafts WHERE conversation_id IN "
                 "(SELECT id FROM conversations WHERE deleted_ms > 0 AND deleted_ms <= ?)",
                 "DELETE FROM conversations WHERE deleted_ms > 0 AND deleted_ms <= ?",
             })
            if (const Status done = database_->run(sql, before); !done) return done;
        return delete_unused_attachments(*database_);
    });
    if (!written) return written.error();
    return due;
}

}  // namespace octavo
