// Times as people read them.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <string>

namespace octavo {

// Milliseconds since 1970 as "2026-11-30 07:45" (UTC). Times outside the years 1970 to 9999, as a damaged or hostile
// file may have, become the nearest of these.
std::string date_text(int64_t ms);
// The same as "20261130-074507", for names of files.
std::string date_stamp(int64_t ms);

}  // namespace octavo
