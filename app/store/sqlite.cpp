#include "app/store/sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <utility>

namespace octavo {
namespace {

constexpr int kBusyMs = 5000;

struct Explanation {
    int code;  // primary code of SQLite
    ErrorKind kind;
    const char* sentence;  // {0}: the file, {1}: SQLite's own words
};
constexpr Explanation kExplanations[] = {
    {SQLITE_FULL, ErrorKind::io,
     "The disk is full, so nothing more can be saved in {0}: free some space and try again; what was saved is safe."},
    {SQLITE_READONLY, ErrorKind::io,
     "{0} can only be read here, so nothing is saved: check the permissions of the file and its folder."},
    {SQLITE_CANTOPEN, ErrorKind::io,
     "{0} could not be opened: check that its folder exists and may be written in, and that the disk is not full."},
    {SQLITE_PERM, ErrorKind::io, "{0} could not be opened: check its permissions."},
    {SQLITE_AUTH, ErrorKind::io, "{0} could not be opened: check its permissions."},
    {SQLITE_CORRUPT, ErrorKind::input,
     "{0} is damaged ({1}): start Octavo's window or 'octavo chat' again, which saves what can be read and keeps the "
     "damaged file."},
    {SQLITE_NOTADB, ErrorKind::input,
     "{0} is no file of conversations, or damaged at its beginning: Octavo's window or 'octavo chat' saves what can be "
     "read, and keeps this file under another name."},
    {SQLITE_BUSY, ErrorKind::io, "Another program is working on {0}: end it, then try again."},
    {SQLITE_LOCKED, ErrorKind::io, "Another program is working on {0}: end it, then try again."},
    {SQLITE_NOMEM, ErrorKind::memory, "Memory ran out while working on {0}: close other programs, then try again."},
    {SQLITE_TOOBIG, ErrorKind::input, "The text is too long to be saved in {0}: at most 1,000,000,000 bytes."},
    {SQLITE_IOERR, ErrorKind::io,
     "Reading or writing {0} failed ({1}): check that its disk is there and has free space."},
};

const Explanation* find_explanation(int code) {
    for (const Explanation& explanation : kExplanations)
        if (explanation.code == (code & 0xff)) return &explanation;
    return nullptr;
}

Error describe(const std::filesystem::path& file, int code, const char* words) {
    const std::string name = file == ":memory:" ? "the conversations in memory" : file.string();
    if (const Explanation* known = find_explanation(code))
        return {known->kind, fmt::format(fmt::runtime(known->sentence), name, words)};
    return {ErrorKind::input, fmt::format("{} could not be used as asked: {} (SQLite {}).", name, words, code)};
}

// As a URI, so that a name with any characters can carry the option.
std::string unchanging_uri(const std::filesystem::path& file) {
    std::string uri = "file:";
    for (const char c : std::filesystem::absolute(file).string()) {
        const bool special = c == '%' || c == '?' || c == '#';
        uri += special ? fmt::format("%{:02X}", static_cast<unsigned char>(c)) : std::string(1, c);
    }
    return uri + "?immutable=1";
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
void Database::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

void Statement::bind_one(int index, int64_t value) {
    if (const int code = sqlite3_bind_int64(statement_.get(), index, value); code != SQLITE_OK) bind_error_ = code;
}

void Statement::bind_one(int index, double value) {
    if (const int code = sqlite3_bind_double(statement_.get(), index, value); code != SQLITE_OK) bind_error_ = code;
}

void Statement::bind_one(int index, std::string_view value) {
    const char* const data = value.data() == nullptr ? "" : value.data();  // null would be NULL
    const int code = sqlite3_bind_text64(statement_.get(), index, data, value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
    if (code != SQLITE_OK) bind_error_ = code;
}

void Statement::bind_one(int index, std::span<const std::byte> value) {
    const void* const data = value.empty() ? static_cast<const void*>("") : value.data();
    const int code = sqlite3_bind_blob64(statement_.get(), index, data, value.size(), SQLITE_TRANSIENT);
    if (code != SQLITE_OK) bind_error_ = code;
}

Result<bool> Statement::step() {
    if (bind_error_ != 0) return database_->error(std::exchange(bind_error_, 0));
    const int code = sqlite3_step(statement_.get());
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) return false;
    return database_->error(code);
}

Status Statement::run() {
    while (true) {
        const Result<bool> row = step();
        if (!row) return row.error();
        if (!*row) return {};
    }
}

void Statement::reset() {
    sqlite3_reset(statement_.get());  // its code is that of the step before
    sqlite3_clear_bindings(statement_.get());
}

int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }
double Statement::number(int column) const { return sqlite3_column_double(statement_.get(), column); }
bool Statement::is_null(int column) const { return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL; }

std::string Statement::text(int column) const {
    const unsigned char* const data = sqlite3_column_text(statement_.get(), column);  // before the length: converts
    const int length = sqlite3_column_bytes(statement_.get(), column);
    return data == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(data), size_t(length));
}

std::span<const std::byte> Statement::bytes(int column) const {
    const void* const data = sqlite3_column_blob(statement_.get(), column);
    const int length = sqlite3_column_bytes(statement_.get(), column);
    if (data == nullptr) return {};
    return {static_cast<const std::byte*>(data), static_cast<size_t>(length)};
}

Result<Database> Database::open(const std::filesystem::path& file, Mode mode, const char* vfs) {
    const int flags = mode == Mode::read_write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
    const std::string name = mode == Mode::unchanging ? unchanging_uri(file) : file.string();
    const int uri = mode == Mode::unchanging ? SQLITE_OPEN_URI : 0;
    sqlite3* handle = nullptr;
    const int code = sqlite3_open_v2(name.c_str(), &handle, flags | uri | SQLITE_OPEN_NOMUTEX, vfs);
    Database database(file, handle);
    if (code != SQLITE_OK) return describe(file, code, handle == nullptr ? "no memory" : sqlite3_errmsg(handle));
    sqlite3_extended_result_codes(handle, 1);
    sqlite3_busy_timeout(handle, kBusyMs);
    // SQL cannot break the file's own structure. (The schema has to be trusted: FTS5 tables of this version of SQLite
    // may not be used in triggers otherwise.)
    sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    return database;
}

Status Database::run(const std::string& sql) const {
    const int code = sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) return error(code);
    return {};
}

Result<Statement> Database::prepare(std::string_view sql) const {
    last_error_ = SQLITE_OK;
    sqlite3_stmt* statement = nullptr;
    const int code = sqlite3_prepare_v2(database_.get(), sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
    if (code != SQLITE_OK) return error(code);
    return Statement(*this, statement);
}

Status Database::transact(const std::function<Status()>& work) const {
    if (const Status begun = run("BEGIN IMMEDIATE"); !begun) return begun;
    Status status = work();
    if (status) status = run("COMMIT");
    // A failure may have ended the transaction already.
    if (!status && sqlite3_get_autocommit(database_.get()) == 0)
        sqlite3_exec(database_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
    return status;
}

void Database::enable_triggers(bool enable) const {
    sqlite3_db_config(database_.get(), SQLITE_DBCONFIG_ENABLE_TRIGGER, enable ? 1 : 0, nullptr);
}

Status Database::tolerate_damage() const {
    sqlite3_db_config(database_.get(), SQLITE_DBCONFIG_DEFENSIVE, 0, nullptr);
    return run(std::string("PRAGMA writable_schema = ON"));
}

int64_t Database::last_row_id() const { return sqlite3_last_insert_rowid(database_.get()); }
int64_t Database::changed_rows() const { return sqlite3_changes64(database_.get()); }

bool Database::is_damaged() const {
    const int code = last_error_ & 0xff;
    return code == SQLITE_CORRUPT || code == SQLITE_NOTADB;
}

Error Database::error(int code) const {
    last_error_ = sqlite3_extended_errcode(database_.get());
    if ((last_error_ & 0xff) != (code & 0xff)) last_error_ = code;
    return describe(file_, last_error_, sqlite3_errmsg(database_.get()));
}

}  // namespace octavo
