#include "app/store/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>

namespace octavo {
namespace {

namespace fs = std::filesystem;

// Ids are never used again (AUTOINCREMENT): a command that comes late must not meet another row.
// The search index knows which texts have a trigram, not where (detail = none): that halves the file, and a text that
// has all trigrams of a word is quickly read. A message is in it from the moment it is complete: while it streams, its
// text is in reply_parts.
constexpr const char* kVersion1 = R"sql(
CREATE TABLE conversations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    title TEXT NOT NULL DEFAULT '',
    titled_by_person INTEGER NOT NULL DEFAULT 0,
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    deleted_ms INTEGER NOT NULL DEFAULT 0,
    shown_root_id INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX conversations_by_time ON conversations (deleted_ms, updated_ms);

CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation_id INTEGER NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    parent_id INTEGER NOT NULL DEFAULT 0,
    shown_child_id INTEGER NOT NULL DEFAULT 0,
    role TEXT NOT NULL,
    state TEXT NOT NULL,
    text TEXT NOT NULL DEFAULT '',
    thinking TEXT NOT NULL DEFAULT '',
    ids BLOB NOT NULL DEFAULT x'',            -- int32, little-endian
    with_thinking INTEGER NOT NULL DEFAULT 1,
    figures TEXT NOT NULL DEFAULT '{}',       -- JSON
    created_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX messages_by_conversation ON messages (conversation_id);
CREATE INDEX messages_streaming ON messages (id) WHERE state = 'streaming';

CREATE TABLE reply_parts (
    id INTEGER PRIMARY KEY,
    message_id INTEGER NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
    text TEXT NOT NULL,
    thinking TEXT NOT NULL,
    ids BLOB NOT NULL
) STRICT;
CREATE INDEX reply_parts_by_message ON reply_parts (message_id);

CREATE TABLE attachments (
    id INTEGER PRIMARY KEY,
    hash INTEGER NOT NULL,                    -- of text; equal texts are stored once
    text TEXT NOT NULL
) STRICT;
CREATE INDEX attachments_by_hash ON attachments (hash);

CREATE TABLE message_attachments (
    id INTEGER PRIMARY KEY,
    message_id INTEGER NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
    attachment_id INTEGER NOT NULL,
    name TEXT NOT NULL
) STRICT;
CREATE INDEX message_attachments_by_message ON message_attachments (message_id);
CREATE INDEX message_attachments_by_attachment ON message_attachments (attachment_id);

CREATE TABLE drafts (
    conversation_id INTEGER PRIMARY KEY,      -- 0: of the conversation that does not exist yet
    text TEXT NOT NULL
) STRICT;

CREATE TABLE draft_attachments (
    id INTEGER PRIMARY KEY,
    conversation_id INTEGER NOT NULL REFERENCES drafts (conversation_id) ON DELETE CASCADE,
    attachment_id INTEGER NOT NULL,
    name TEXT NOT NULL
) STRICT;
CREATE INDEX draft_attachments_by_conversation ON draft_attachments (conversation_id);

CREATE TABLE settings (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL                       -- JSON
) STRICT;

CREATE TABLE conversation_settings (
    id INTEGER PRIMARY KEY,
    conversation_id INTEGER NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    key TEXT NOT NULL,
    value TEXT NOT NULL,                      -- JSON
    UNIQUE (conversation_id, key)
) STRICT;

CREATE TABLE recall_runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    created_ms INTEGER NOT NULL,
    model TEXT NOT NULL,
    scheme TEXT NOT NULL,
    min_length INTEGER NOT NULL,
    max_length INTEGER NOT NULL,
    report TEXT NOT NULL                      -- JSON
) STRICT;
CREATE INDEX recall_runs_by_settings ON recall_runs (model, scheme, created_ms);

CREATE VIRTUAL TABLE title_search USING fts5 (
    title, content = 'conversations', content_rowid = 'id', tokenize = 'trigram', detail = none, columnsize = 0
);
CREATE TRIGGER title_added AFTER INSERT ON conversations BEGIN
    INSERT INTO title_search (rowid, title) VALUES (new.id, new.title);
END;
CREATE TRIGGER title_removed AFTER DELETE ON conversations BEGIN
    INSERT INTO title_search (title_search, rowid, title) VALUES ('delete', old.id, old.title);
END;
CREATE TRIGGER title_changed AFTER UPDATE OF title ON conversations BEGIN
    INSERT INTO title_search (title_search, rowid, title) VALUES ('delete', old.id, old.title);
    INSERT INTO title_search (rowid, title) VALUES (new.id, new.title);
END;

CREATE VIRTUAL TABLE message_search USING fts5 (
    text, content = 'messages', content_rowid = 'id', tokenize = 'trigram', detail = none, columnsize = 0
);
CREATE TRIGGER message_added AFTER INSERT ON messages WHEN new.state <> 'streaming' BEGIN
    INSERT INTO message_search (rowid, text) VALUES (new.id, new.text);
END;
CREATE TRIGGER message_removed AFTER DELETE ON messages WHEN old.state <> 'streaming' BEGIN
    INSERT INTO message_search (message_search, rowid, text) VALUES ('delete', old.id, old.text);
END;
CREATE TRIGGER message_finished AFTER UPDATE OF state ON messages
    WHEN old.state = 'streaming' AND new.state <> 'streaming' BEGIN
    INSERT INTO message_search (rowid, text) VALUES (new.id, new.text);
END;
)sql";

constexpr Migration kMigrations[] = {{kVersion1}};

Status copy_file(const Database& database, int64_t version) {
    const fs::path copy = copy_before_migration(database.file(), version);
    const fs::path partial = copy.string() + ".partial";
    std::error_code ignored;
    fs::remove(partial, ignored);  // of a start that did not get further
    if (const Status copied = database.run("VACUUM INTO ?", partial.string()); !copied) {
        fs::remove(partial, ignored);
        return copied;
    }
    std::error_code error;
    fs::rename(partial, copy, error);
    if (error)
        return Error{ErrorKind::io,
                     fmt::format("{} could not be written ({}): check its folder.", copy.string(), error.message())};
    return {};
}

Status command_search_index(const Database& database, const char* command) {
    return database.transact([&]() -> Status {
        if (const Status done = database.run("INSERT INTO title_search (title_search) VALUES (?)", command); !done)
            return done;
        return database.run("INSERT INTO message_search (message_search) VALUES (?)", command);
    });
}

}  // namespace

std::span<const Migration> store_migrations() { return kMigrations; }

Result<int64_t> schema_version(const Database& database) { return database.value("PRAGMA user_version"); }

fs::path copy_before_migration(const fs::path& file, int64_t version) {
    return file.parent_path() / fmt::format("{}-version-{}.db", file.stem().string(), version);
}

Status migrate(const Database& database, std::span<const Migration> migrations, bool keep_copy) {
    const Result<int64_t> version = schema_version(database);
    if (!version) return version.error();
    const auto newest = static_cast<int64_t>(migrations.size());
    if (*version < 0 || *version > newest)
        return Error{ErrorKind::usage,
                     fmt::format("{} was written by a newer Octavo (version {} of the file, this one knows {}): start "
                                 "that one, or name another file.",
                                 database.file().string(), *version, newest)};
    if (*version == newest) return {};
    if (*version > 0 && keep_copy)
        if (const Status copied = copy_file(database, *version); !copied) return copied;
    return database.transact([&]() -> Status {
        for (const Migration& migration : migrations.subspan(static_cast<size_t>(*version)))
            if (const Status done = database.run(std::string(migration.sql)); !done) return done;
        return database.run(fmt::format("PRAGMA user_version = {}", newest));
    });
}

Status rebuild_search_index(const Database& database) { return command_search_index(database, "rebuild"); }

Status check_search_index(const Database& database) { return command_search_index(database, "integrity-check"); }

}  // namespace octavo
