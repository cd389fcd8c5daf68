// Text files in and out, whole.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "kernels/base/error.h"

namespace octavo {

// A whole context of 262,144 tokens is about 1 MiB of text.
constexpr size_t kMaxTextBytes = size_t{64} << 20;

// The whole file, a regular one of at most `max_bytes`; "-" reads standard input to its end, up to the same limit.
// Refused, with the place, when it is not UTF-8 text.
Result<std::string> read_text_file(const std::filesystem::path& path, size_t max_bytes = kMaxTextBytes);
Status write_text_file(const std::filesystem::path& path, std::string_view text);

// Refuses what is not UTF-8 text; `what` begins the sentence: "The message".
Status check_text(std::string_view what, std::string_view text);

// Offset of the first byte that is not part of well-formed UTF-8 (NUL counts too); npos when all is well.
size_t find_invalid_utf8(std::string_view text);

}  // namespace octavo
