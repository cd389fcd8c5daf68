// Whether a file may be written, found out before the work that fills it.
//
// Threads: the main thread. Non-goal: files that change between the check and the writing.
#pragma once

#include <filesystem>
#include <string_view>

#include "kernels/base/error.h"

namespace octavo {

// A file that can be written: no folder, in a folder that exists and lets this program write. Nothing is left changed.
Status check_writable(const std::filesystem::path& file);

// Also refuses a file that exists and holds anything but JSON, so that a forgotten file name cannot destroy a model or
// a configuration. An empty file may be overwritten.
Status check_overwrites_json_only(const std::filesystem::path& file);

// The same for a kind of binary file ("a .npy file", "a PNG picture") that begins with `magic`. "-" is refused.
Status check_overwrites_only(const std::filesystem::path& file, std::string_view magic, std::string_view kind);

}  // namespace octavo
