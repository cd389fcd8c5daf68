// What the store keeps beside conversations: drafts, settings, recall runs.
#include <fmt/format.h>

#include "app/store/attachments.h"
#include "app/store/sqlite.h"
#include "app/store/store.h"

namespace octavo {
namespace {

constexpr const char* kRunColumns = "id, created_ms, model, scheme, min_length, max_length";

RecallRunSummary read_run(const Statement& row) {
    return {row.integer(0), row.integer(1), row.text(2), row.text(3), row.integer(4), row.integer(5)};
}

}  // namespace

Result<Draft> Store::draft(int64_t conversation_id) {
    Draft draft;
    if (const Status read = database_->each_row(
            "SELECT text FROM drafts WHERE conversation_id = ?",
            [&](const Statement& row) { draft.text = row.text(0); }, conversation_id);
        !read)
        return read.error();
    const AttachmentOwner owner{AttachmentOwner::Kind::draft, conversation_id};
    if (const Status read = read_attachments(*database_, owner, draft.attachments); !read) return read.error();
    return draft;
}

Status Store::save_draft(int64_t conversation_id, const Draft& draft) {
    return write([&]() -> Status {
        if (const Status done = database_->run("DELETE FROM drafts WHERE conversation_id = ?", conversation_id); !done)
            return done;
        if (draft.empty()) return {};
        if (const Status done =
                database_->run("INSERT INTO drafts (conversation_id, text) VALUES (?, ?)", conversation_id, draft.text);
            !done)
            return done;
        return add_attachments(*database_, {AttachmentOwner::Kind::draft, conversation_id}, draft.attachments);
    });
}

Result<Settings> Store::settings() {
    Settings settings;
    const Status read = database_->each_row("SELECT key, value FROM settings",
                                            [&](const Statement& row) { settings.set_json(row.text(0), row.text(1)); });
    if (!read) return read.error();
    return settings;
}

Status Store::save_settings(const Settings& settings) {
    return write([&]() -> Status {
        for (const auto& [key, value] : settings.values())
            if (const Status done = database_->run("INSERT INTO settings (key, value) VALUES (?, ?) "
                                                   "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                                                   key, value);
                !done)
                return done;
        return {};
    });
}

Status Store::write_conversation_settings(int64_t id, const Settings& settings) {
    for (const auto& [key, value] : settings.values())
        if (const Status done =
                database_->run("INSERT INTO conversation_settings (conversation_id, key, value) VALUES (?, ?, ?) "
                               "ON CONFLICT (conversation_id, key) DO UPDATE SET value = excluded.value",
                               id, key, value);
            !done)
            return done;
    return {};
}

Status Store::save_conversation_settings(int64_t conversation_id, const Settings& settings) {
    return write([&]() -> Status {
        if (const Result<ConversationSummary> there = summary(conversation_id); !there) return there.error();
        return write_conversation_settings(conversation_id, settings);
    });
}

Result<int64_t> Store::add_recall_run(const RecallRun& run) {
    const RecallRunSummary& head = run.summary;
    const Status written = write([&] {
        return database_->run(
            "INSERT INTO recall_runs (created_ms, model, scheme, min_length, max_length, report) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            head.created_ms != 0 ? head.created_ms : now_ms(), head.model, head.scheme, head.min_length,
            head.max_length, run.report);
    });
    if (!written) return written.error();
    return database_->last_row_id();
}

Result<std::vector<RecallRunSummary>> Store::recall_runs() {
    std::vector<RecallRunSummary> runs;
    const Status read =
        database_->each_row(fmt::format("SELECT {} FROM recall_runs ORDER BY created_ms DESC, id DESC", kRunColumns),
                            [&](const Statement& row) { runs.push_back(read_run(row)); });
    if (!read) return read.error();
    return runs;
}

Result<RecallRun> Store::recall_run(int64_t id) {
    RecallRun run;
    const Status read = database_->each_row(
        fmt::format("SELECT {}, report FROM recall_runs WHERE id = ?", kRunColumns),
        [&](const Statement& row) {
            run.summary = read_run(row);
            run.report = row.text(6);
        },
        id);
    if (!read) return read.error();
    if (run.summary.id == 0) return Error{ErrorKind::usage, fmt::format("There is no recall run {}.", id)};
    return run;
}

Status Store::delete_recall_run(int64_t id) {
    return write([&] { return database_->run("DELETE FROM recall_runs WHERE id = ?", id); });
}

}  // namespace octavo
