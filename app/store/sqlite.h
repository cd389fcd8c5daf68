// SQLite behind values: a database, a statement, a transaction. The only files that include <sqlite3.h> are its
// implementation and those of this folder that need what is not wrapped.
//
// Threads: a Database and its Statements belong to one thread at a time.
// Non-goals: statement caches, types beyond integers, numbers, text and bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "kernels/base/error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace octavo {

class Database;

// A prepared statement: bind all parameters, then step through its rows.
class Statement {
  public:
    // One for each parameter, in order. Text and bytes are copied.
    template <class... Values>
    Statement& bind(const Values&... values) {
        int index = 0;
        (bind_one(++index, values), ...);
        return *this;
    }

    // For statements whose number of parameters is not known beforehand; `index` from 1.
    void bind_at(int index, std::string_view value) { bind_one(index, value); }

    Result<bool> step();  // true: there is a row
    Status run();         // to its end
    void reset();         // ready to be bound and run again

    // Columns of the row, from 0. A value of another type is converted; NULL is 0 or empty.
    int64_t integer(int column) const;
    double number(int column) const;
    std::string text(int column) const;
    std::span<const std::byte> bytes(int column) const;  // until the next step
    bool is_null(int column) const;

  private:
    friend class Database;
    struct Finalize {
        void operator()(sqlite3_stmt* statement) const;
    };
    Statement(const Database& database, sqlite3_stmt* statement) : database_(&database), statement_(statement) {}
    void bind_one(int index, int64_t value);
    void bind_one(int index, int value) { bind_one(index, static_cast<int64_t>(value)); }
    void bind_one(int index, bool value) { bind_one(index, static_cast<int64_t>(value)); }
    void bind_one(int index, double value);
    void bind_one(int index, std::string_view value);
    void bind_one(int index, const std::string& value) { bind_one(index, std::string_view(value)); }
    void bind_one(int index, const char* value) { bind_one(index, std::string_view(value)); }
    void bind_one(int index, std::span<const std::byte> value);

    const Database* database_;
    std::unique_ptr<sqlite3_stmt, Finalize> statement_;
    int bind_error_ = 0;  // told by the next step
};

class Database {
  public:
    enum class Mode {
        read_write,  // made where it is not there
        read_only,   // while another process may write
        unchanging,  // read_only, of a file in a place where nothing can be written
    };
    // `file` ":memory:" is kept nowhere. `vfs`: name of a file layer of SQLite, null: the system's.
    static Result<Database> open(const std::filesystem::path& file, Mode mode, const char* vfs = nullptr);

    Status run(const std::string& sql) const;  // statements without parameters
    Result<Statement> prepare(std::string_view sql) const;

    template <class... Values>
    Status run(std::string_view sql, const Values&... values) const {
        Result<Statement> statement = prepare(sql);
        if (!statement) return statement.error();
        return statement->bind(values...).run();
    }
    // The first column of the first row as an integer; 0 where there is no row.
    template <class... Values>
    Result<int64_t> value(std::string_view sql, const Values&... values) const {
        Result<Statement> statement = prepare(sql);
        if (!statement) return statement.error();
        const Result<bool> row = statement->bind(values...).step();
        if (!row) return row.error();
        return *row ? statement->integer(0) : 0;
    }

    // Calls visit(row) for each row.
    template <class Visit, class... Values>
    Status each_row(std::string_view sql, Visit&& visit, const Values&... values) const {
        Result<Statement> statement = prepare(sql);
        if (!statement) return statement.error();
        statement->bind(values...);
        while (true) {
            const Result<bool> row = statement->step();
            if (!row) return row.error();
            if (!*row) return {};
            visit(*statement);
        }
    }

    // Runs `work` between BEGIN and COMMIT; an error of either takes everything back.
    Status transact(const std::function<Status()>& work) const;

    void enable_triggers(bool enable) const;
    // Reads what it can of files whose length or table definitions are wrong.
    Status tolerate_damage() const;
    int64_t last_row_id() const;
    int64_t changed_rows() const;  // by the last statement
    const std::filesystem::path& file() const { return file_; }

    bool is_damaged() const;  // so says the statement prepared last

  private:
    friend class Statement;
    struct Close {
        void operator()(sqlite3* database) const;
    };
    Database(std::filesystem::path file, sqlite3* database) : file_(std::move(file)), database_(database) {}
    Error error(int code) const;

    std::filesystem::path file_;
    std::unique_ptr<sqlite3, Close> database_;
    mutable int last_error_ = 0;  // extended code of SQLite, of the statement prepared last
};

}  // namespace octavo
