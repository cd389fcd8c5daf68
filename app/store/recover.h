// Saves what can be read of a damaged file: table by table, row by row, around the places that cannot be read.
//
// Threads: as Database. Non-goal: reading pages that the file's own structure does not lead to.
#pragma once

#include <string>

#include "app/store/store.h"
#include "kernels/base/error.h"

namespace octavo {

// Puts a sound file with the readable rows in the place of options.file, and keeps the damaged one beside it, under
// another name. Returns a sentence that says so. After an error the damaged file is where it was.
Result<std::string> recover_file(const StoreOptions& options);

}  // namespace octavo
