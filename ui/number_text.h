// Numbers as people read them.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <string>

namespace octavo {

std::string format_count(int64_t number);    // "262,144"
std::string format_size(int64_t bytes);      // "512 B", "5.7 KiB", "1.25 GiB"
std::string format_tokens(int64_t tokens);   // "900", "16K", "262K" (of 1,024)
std::string format_rate(double per_second);  // "38 tok/s", "4,434 tok/s", "2.4 tok/s"
std::string format_seconds(double seconds);  // "0.8 s", "42 s", "3 min 20 s", "2 h 5 min"

}  // namespace octavo
