#include "app/store/recover.h"

#include <fmt/format.h>

#include <filesystem>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "app/date_text.h"
#include "app/size_text.h"
#include "app/store/sqlite.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kFirst = std::numeric_limits<int64_t>::min();
// Rows to jump over where the file cannot be read: 1, 2, 4 and so on to this.
constexpr int64_t kLongestJump = int64_t{1} << 40;

fs::path with_suffix(const fs::path& file, const char* suffix) { return file.string() + suffix; }

// Copies one table of the attached database "damaged" into the table of the same name.
class TableCopy {
  public:
    TableCopy(const Database& database, std::string table, std::string columns)
        : database_(&database), table_(std::move(table)), columns_(std::move(columns)) {}

    Status run() {
        for (int64_t from = kFirst; true;) {
            const Walk walk = copy_range(fmt::format("rowid >= {} ORDER BY rowid", from));
            if (walk.error) return *walk.error;
            if (walk.ended) return {};
            const int64_t unreadable = walk.copied ? walk.last + 1 : from;
            const std::optional<int64_t> beyond = find_row_beyond(unreadable);
            if (!beyond) return {};
            // What the jump went over, up to the damage, from its other side.
            const Walk back =
                copy_range(fmt::format("rowid >= {} AND rowid < {} ORDER BY rowid DESC", unreadable, *beyond));
            if (back.error) return *back.error;
            from = *beyond;
        }
    }

  private:
    struct Walk {
        bool ended = false;  // all rows of the range were read; else the damage stopped it
        bool copied = false;
        int64_t last = 0;            // row, if copied
        std::optional<Error> error;  // of writing
    };

    Walk copy_range(const std::string& range) {
        Walk walk;
        // NOT INDEXED: the rows themselves are wanted, not an index that may know others.
        Result<Statement> rows =
            database_->prepare(fmt::format("SELECT rowid FROM damaged.{} NOT INDEXED WHERE {}", table_, range));
        Result<Statement> copy =
            database_->prepare(fmt::format("INSERT OR IGNORE INTO main.{0} ({1}) SELECT {1} FROM damaged.{0} "
                                           "NOT INDEXED WHERE rowid = ?",
                                           table_, columns_));
        if (!rows || !copy) {
            walk.ended = true;  // the table is not there
            return walk;
        }
        while (true) {
            const Result<bool> row = rows->step();
            if (!row) return walk;
            if (!*row) {
                walk.ended = true;
                return walk;
            }
            const int64_t id = rows->integer(0);
            const Status copied = copy->bind(id).run();
            copy->reset();
            if (!copied && !database_->is_damaged()) {
                // A row that the table does not take is left out; a full disk ends it all.
                if (copied.error().kind == ErrorKind::io || copied.error().kind == ErrorKind::memory) {
                    walk.error = copied.error();
                    return walk;
                }
            }
            walk.copied = true;
            walk.last = id;
        }
    }

    std::optional<int64_t> find_row_beyond(int64_t unreadable) {
        for (int64_t jump = 1; jump <= kLongestJump; jump *= 2) {
            const int64_t target = unreadable == kFirst ? jump : unreadable + jump;
            Result<Statement> next = database_->prepare(fmt::format(
                "SELECT rowid FROM damaged.{} NOT INDEXED WHERE rowid >= {} ORDER BY rowid LIMIT 1", table_, target));
            if (!next) return std::nullopt;
            const Result<bool> row = next->step();
            if (!row) continue;
            return *row ? std::optional(next->integer(0)) : std::nullopt;
        }
        return std::nullopt;
    }

    const Database* database_;
    std::string table_;
    std::string columns_;
};

Result<std::vector<std::string>> list_tables(const Database& database) {
    Result<Statement> tables = database.prepare(
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite\\_%' "
        "ESCAPE '\\'");
    if (!tables) return tables.error();
    std::vector<std::string> names;
    while (true) {
        const Result<bool> row = tables->step();
        if (!row) return row.error();
        if (!*row) return names;
        names.push_back(tables->text(0));
    }
}

// Names of the columns that both have; empty where the damaged file's table cannot be read.
std::string common_columns(const Database& database, const std::string& table) {
    std::string columns;
    Result<Statement> names = database.prepare(
        "SELECT name FROM pragma_table_info(?1, 'main') INTERSECT SELECT name FROM pragma_table_info(?1, 'damaged')");
    if (!names) return columns;
    names->bind(table);
    while (true) {
        const Result<bool> row = names->step();
        if (!row || !*row) return columns;
        columns += (columns.empty() ? "\"" : ", \"") + names->text(0) + '"';
    }
}

// Rows whose owner was lost: messages get a conversation, what belongs to nothing goes.
Status tidy_up(const Database& database) {
    if (const Status done = database.run(
            std::string("INSERT INTO conversations (id, title, created_ms, updated_ms) "
                        "SELECT conversation_id, 'Recovered', min(created_ms), max(created_ms) FROM messages "
                        "WHERE conversation_id NOT IN (SELECT id FROM conversations) GROUP BY conversation_id"));
        !done)
        return done;
    Result<Statement> orphans = database.prepare("SELECT \"table\", rowid FROM pragma_foreign_key_check");
    if (!orphans) return orphans.error();
    std::vector<std::pair<std::string, int64_t>> found;
    while (true) {
        const Result<bool> row = orphans->step();
        if (!row) return row.error();
        if (!*row) break;
        found.emplace_back(orphans->text(0), orphans->integer(1));
    }
    for (const auto& [table, row] : found)
        if (const Status done = database.run(fmt::format("DELETE FROM \"{}\" WHERE rowid = ?", table), row); !done)
            return done;
    return {};
}

Status copy_tables(const Database& database) {
    const Result<std::vector<std::string>> tables = list_tables(database);
    if (!tables) return tables.error();
    for (const std::string& table : *tables) {
        const std::string columns = common_columns(database, table);
        if (columns.empty()) continue;
        if (const Status done = TableCopy(database, table, columns).run(); !done) return done;
    }
    return {};
}

struct Recovered {
    int64_t conversations = 0;
    int64_t messages = 0;
};

// The version of the damaged file, if it is one that is known; else the newest.
size_t damaged_version(const Database& database, size_t newest) {
    const Result<int64_t> version = database.value("PRAGMA damaged.user_version");
    const bool known = version && *version > 0 && *version <= static_cast<int64_t>(newest);
    return known ? static_cast<size_t>(*version) : newest;
}

Result<Recovered> fill(const fs::path& sound_file, const StoreOptions& options) {
    const Result<Database> database = Database::open(sound_file, Database::Mode::read_write, options.vfs);
    if (!database) return database.error();
    // Each row is a transaction of its own: one that met damage could not be committed. That is quick where nothing
    // waits for the disk; a failure throws the file away anyhow, and the last step waits for all of it.
    if (const Status done = database->run(std::string("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF")); !done)
        return done.error();
    if (const Status done = database->tolerate_damage(); !done) return done.error();
    const bool readable = static_cast<bool>(database->run("ATTACH ? AS damaged", options.file.string()));
    const size_t version = readable ? damaged_version(*database, options.migrations.size()) : options.migrations.size();
    if (const Status done = migrate(*database, options.migrations.first(version), false); !done) return done.error();
    if (readable) {
        database->enable_triggers(false);  // the search index is made at once, below
        if (const Status done = copy_tables(*database); !done) return done.error();
        database->enable_triggers(true);
        if (const Status done = database->run(std::string("DETACH damaged; PRAGMA synchronous = FULL")); !done)
            return done.error();
        if (const Status done = database->transact([&] { return tidy_up(*database); }); !done) return done.error();
        if (const Status done = rebuild_search_index(*database); !done) return done.error();
    }
    if (const Status done = migrate(*database, options.migrations, false); !done) return done.error();
    const Result<int64_t> conversations = database->value("SELECT count(*) FROM conversations");
    if (!conversations) return conversations.error();
    const Result<int64_t> messages = database->value("SELECT count(*) FROM messages");
    if (!messages) return messages.error();
    return Recovered{*conversations, *messages};
}

fs::path name_for_damaged(const StoreOptions& options) {
    const std::string stem = fmt::format("{}-damaged-{}", options.file.stem().string(), date_stamp(options.now_ms()));
    fs::path name = options.file.parent_path() / (stem + ".db");
    std::error_code ignored;
    for (int i = 2; fs::exists(name, ignored); ++i)
        name = options.file.parent_path() / fmt::format("{}-{}.db", stem, i);
    return name;
}

// The damaged file gets a second name first, so that at no moment there is none.
Status exchange(const fs::path& file, const fs::path& sound_file, const fs::path& damaged_name) {
    std::error_code error;
    fs::create_hard_link(file, damaged_name, error);
    if (error) fs::copy_file(file, damaged_name, error);
    // A journal that stayed would be taken for one of the new file.
    std::error_code ignored;
    if (!error && fs::exists(with_suffix(file, "-wal"), ignored))
        fs::rename(with_suffix(file, "-wal"), with_suffix(damaged_name, "-wal"), error);
    if (!error) fs::remove(with_suffix(file, "-shm"), ignored);
    if (!error) fs::rename(sound_file, file, error);
    if (error)
        return Error{ErrorKind::io, fmt::format("{} is damaged, and could not be replaced by what was saved of it "
                                                "({}): check its folder and the free space.",
                                                file.string(), error.message())};
    return {};
}

}  // namespace

Result<std::string> recover_file(const StoreOptions& options) {
    const fs::path sound_file = with_suffix(options.file, ".recovering");
    std::error_code ignored;
    fs::remove(sound_file, ignored);
    const Result<Recovered> recovered = fill(sound_file, options);
    if (!recovered) {
        fs::remove(sound_file, ignored);
        return Error{recovered.error().kind,
                     fmt::format("{} is damaged, and what can be read of it could not be saved: {}",
                                 options.file.string(), recovered.error().message)};
    }
    const fs::path damaged_name = name_for_damaged(options);
    if (const Status done = exchange(options.file, sound_file, damaged_name); !done) return done.error();
    return fmt::format(
        "{} was damaged: {} conversations with {} messages could be read and are here; the damaged file "
        "is kept as {}.",
        options.file.string(), group_digits(recovered->conversations), group_digits(recovered->messages),
        damaged_name.filename().string());
}

}  // namespace octavo
