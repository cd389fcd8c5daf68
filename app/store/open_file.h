// Opens the store's file, come what may: new, of an older version, damaged, held by another instance, in a folder that
// cannot be written, on a full disk.
//
// Threads: as Database.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/store/file_lock_platform.h"
#include "app/store/sqlite.h"
#include "app/store/store.h"

namespace octavo {

struct OpenedFile {
    Database database;
    StoreAccess access = StoreAccess::full;
    std::vector<std::string> notices;
    std::unique_ptr<FileLock> lock;  // with full access to a file
};

// See Store::open.
Result<OpenedFile> open_store_file(const StoreOptions& options);

// Has the file checked whole, and repaired where that is needed, when it is opened the next time.
Status request_check(const std::filesystem::path& file);

}  // namespace octavo
