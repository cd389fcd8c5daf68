#include "app/store/open_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "app/store/recover.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;

fs::path with_suffix(const fs::path& file, const char* suffix) { return file.string() + suffix; }
fs::path lock_file(const fs::path& file) { return with_suffix(file, ".lock"); }
fs::path check_mark(const fs::path& file) { return with_suffix(file, ".check"); }

// Whether a file begins as no database does. One that is empty is new, and zeros are what a crash leaves of a file.
bool is_other_kind(const fs::path& file) {
    constexpr std::string_view magic("SQLite format 3\0", 16);
    std::error_code ignored;
    if (!fs::is_regular_file(file, ignored) || fs::file_size(file, ignored) == 0) return false;
    std::ifstream in(file, std::ios::binary);
    std::string start(magic.size(), ' ');
    // What was said last may stand beside the file yet, its beginning included.
    if (!in || fs::exists(with_suffix(file, "-wal"), ignored)) return false;
    in.read(start.data(), static_cast<std::streamsize>(start.size()));
    start.resize(static_cast<size_t>(in.gcount()));
    if (start.empty()) return false;  // opening it says why
    return start != magic && start.find_first_not_of('\0') != std::string::npos;
}

std::string left_alone(const fs::path& file, const char* what) {
    return fmt::format("{} is {}, so it is left alone and nothing is read or saved: name another file.", file.string(),
                       what);
}

// Refuses databases of other programs, before anything in them is changed. What is damaged passes.
Status check_owner(const Database& database) {
    const Result<int64_t> tables = database.value("SELECT count(*) FROM sqlite_schema WHERE type = 'table'");
    const Result<int64_t> ours =
        database.value("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'reply_parts'");
    const Result<int64_t> version = schema_version(database);
    if (!tables || !ours || !version || *tables == 0 || (*ours > 0 && *version != 0)) return {};
    return Error{ErrorKind::usage, left_alone(database.file(), "a database of another program")};
}

Status set_up(const Database& database) {
    return database.run(
        std::string("PRAGMA foreign_keys = ON; PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY"));
}

// Reads a little of what every start needs.
Status probe(const Database& database) {
    return database.run("SELECT id FROM conversations ORDER BY deleted_ms, updated_ms LIMIT 100");
}

// "ok", or what is wrong.
Status check_whole(const Database& database) {
    Result<Statement> check = database.prepare("PRAGMA integrity_check(1)");
    if (!check) return check.error();
    const Result<bool> row = check->step();
    if (!row) return row.error();
    const std::string words = *row ? check->text(0) : "ok";
    if (words == "ok") return check_search_index(database);
    return Error{ErrorKind::input, fmt::format("{} is damaged ({}).", database.file().string(), words)};
}

struct Prepared {
    std::optional<Database> database;
    std::optional<Error> error;  // else
    bool damaged = false;
};

Prepared prepare_to_write(const StoreOptions& options) {
    Prepared prepared;
    Result<Database> database = Database::open(options.file, Database::Mode::read_write, options.vfs);
    if (!database) {
        prepared.error = database.error();
        return prepared;
    }
    std::error_code ignored;
    const bool check_wanted = fs::exists(check_mark(options.file), ignored);
    const auto work = [&]() -> Status {
        if (const Status ours = check_owner(*database); !ours) return ours;
        // FULL: also a loss of power takes nothing that was said to be saved.
        const std::string journal = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL";
        if (const Status done = database->run(journal); !done) return done;
        if (const Status done = set_up(*database); !done) return done;
        if (check_wanted)
            if (const Status whole = check_whole(*database); !whole) {
                prepared.damaged = true;
                return whole;
            }
        if (const Status done = migrate(*database, options.migrations, true); !done) return done;
        return probe(*database);
    };
    if (const Status done = work(); !done) {
        prepared.error = done.error();
        prepared.damaged |= database->is_damaged();
        return prepared;
    }
    if (check_wanted) fs::remove(check_mark(options.file), ignored);
    prepared.database = std::move(*database);
    return prepared;
}

Result<OpenedFile> open_in_memory(const StoreOptions& options, std::vector<std::string> notices) {
    Result<Database> database = Database::open(":memory:", Database::Mode::read_write);
    if (!database) return database.error();
    if (const Status done = set_up(*database); !done) return done.error();
    if (const Status done = migrate(*database, options.migrations, false); !done) return done.error();
    return OpenedFile{std::move(*database), StoreAccess::temporary, std::move(notices), nullptr};
}

Result<Database> try_to_read(const StoreOptions& options, Database::Mode mode) {
    Result<Database> database = Database::open(options.file, mode, options.vfs);
    if (!database) return database;
    if (const Status ours = check_owner(*database); !ours) return ours.error();
    if (const Status done = set_up(*database); !done) return done.error();
    const Result<int64_t> version = schema_version(*database);
    if (!version) return version.error();
    if (*version != static_cast<int64_t>(options.migrations.size()))
        return Error{ErrorKind::usage,
                     fmt::format("{} is of another version of Octavo: open it once where it can be written.",
                                 options.file.string())};
    if (const Status done = probe(*database); !done) return done.error();
    return database;
}

Result<OpenedFile> open_to_read(const StoreOptions& options, std::vector<std::string> notices) {
    std::error_code error;
    const bool exists = fs::exists(options.file, error);
    if (error)
        notices.push_back(
            fmt::format("{} cannot be reached ({}): check its folders.", options.file.string(), error.message()));
    if (!exists) return open_in_memory(options, std::move(notices));
    std::error_code ignored;
    Result<Database> database = try_to_read(options, Database::Mode::read_only);
    if (!database) {
        database = try_to_read(options, Database::Mode::unchanging);
        const fs::path journal = with_suffix(options.file, "-wal");
        if (database && fs::exists(journal, ignored) && fs::file_size(journal, ignored) > 0)
            notices.push_back(
                fmt::format("The newest messages are in {}, and cannot be read without writing.", journal.string()));
    }
    if (!database) {
        if (notices.empty() || notices.back() != database.error().message) notices.push_back(database.error().message);
        return open_in_memory(options, std::move(notices));
    }
    return OpenedFile{std::move(*database), StoreAccess::read_only, std::move(notices), nullptr};
}

Result<OpenedFile> open_to_write(const StoreOptions& options, std::unique_ptr<FileLock> lock) {
    std::vector<std::string> notices;
    Prepared prepared = prepare_to_write(options);
    if (!prepared.database && prepared.damaged) {
        const Result<std::string> recovered = recover_file(options);
        notices.push_back(recovered ? *recovered : recovered.error().message);
        if (!recovered) return open_in_memory(options, std::move(notices));
        std::error_code ignored;
        fs::remove(check_mark(options.file), ignored);
        prepared = prepare_to_write(options);
    }
    if (!prepared.database) {
        notices.push_back(prepared.error->message);
        return open_to_read(options, std::move(notices));
    }
    return OpenedFile{std::move(*prepared.database), StoreAccess::full, std::move(notices), std::move(lock)};
}

std::string taken_sentence(int64_t owner) {
    const std::string process = owner > 0 ? fmt::format(" (process {})", owner) : "";
    return fmt::format(
        "Another Octavo{} has these conversations open: here they can be read, but nothing is saved. End that one and "
        "start again to change it.",
        process);
}

}  // namespace

Status request_check(const fs::path& file) {
    std::ofstream mark(check_mark(file));
    mark << "Octavo checks the file of this name when it starts the next time.\n";
    mark.flush();
    if (!mark)
        return Error{ErrorKind::io, fmt::format("{} could not be written: check its folder and the free space.",
                                                check_mark(file).string())};
    return {};
}

Result<OpenedFile> open_store_file(const StoreOptions& options) {
    if (options.file.empty()) return open_in_memory(options, {});
    std::error_code ignored;  // reading says more, and the lock fails
    if (fs::is_directory(options.file, ignored))
        return open_in_memory(
            options, {fmt::format("{} is a folder, so nothing is read or saved: name a file.", options.file.string())});
    if (options.named && is_other_kind(options.file))
        return open_in_memory(options, {left_alone(options.file, "no file of conversations")});
    if (options.read_only) return open_to_read(options, {});
    const fs::path folder = options.file.parent_path();
    if (!folder.empty() && fs::create_directories(folder, ignored))
        fs::permissions(folder, fs::perms::owner_all, ignored);  // what a person writes is nobody else's
    FileLock::Attempt attempt = FileLock::try_lock(lock_file(options.file));
    switch (attempt.outcome) {
        case FileLock::Outcome::held: return open_to_write(options, std::move(attempt.lock));
        case FileLock::Outcome::taken: return open_to_read(options, {taken_sentence(attempt.owner)});
        case FileLock::Outcome::impossible: break;
    }
    return open_to_read(
        options, {fmt::format("Nothing can be written at {}, so nothing is saved: check the permissions of its folder "
                              "and the free space.",
                              options.file.string())});
}

}  // namespace octavo
