// Sizes as people write and read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/base/error.h"

namespace octavo {

// "4096", "16k" (x 1024, for tokens), "512MiB", "8GiB". Fails on anything else, on negative values and on overflow.
Result<int64_t> parse_size(std::string_view text);

// Digits in groups of three: 262144 -> "262,144".
std::string group_digits(int64_t value);

// Bytes with the unit that fits: "896 B", "4.0 KiB", "33.6 MiB", "1.00 GiB".
std::string bytes_text(int64_t bytes);

}  // namespace octavo
