// The tables of the store, and how a file of an older version becomes one of this version.
//
// Threads: as Database. A migration never edits an entry of the table that was released: it adds one at the end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "app/store/sqlite.h"

namespace octavo {

// Statements that take a file from version i to version i + 1, where i is the place in the list. Version 0 is empty.
struct Migration {
    const char* sql;
};
std::span<const Migration> store_migrations();

Result<int64_t> schema_version(const Database& database);

// Takes the database to the version that `migrations` describes, in one transaction. With `keep_copy`, a file that has
// something in it is copied before, see copy_before_migration. ErrorKind::usage where the file is of a newer version.
Status migrate(const Database& database, std::span<const Migration> migrations, bool keep_copy);

// The name of that copy: NAME-version-N.db beside the file.
std::filesystem::path copy_before_migration(const std::filesystem::path& file, int64_t version);

// Fills the search index from the tables again; an error where it is damaged beyond that.
Status rebuild_search_index(const Database& database);
// An error where the index does not agree with itself. Takes as long as reading all of it.
Status check_search_index(const Database& database);

}  // namespace octavo
