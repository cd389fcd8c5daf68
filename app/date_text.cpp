#include "app/date_text.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <ctime>

namespace octavo {
namespace {

std::tm to_calendar(int64_t ms) {
    constexpr int64_t kEndOf9999 = 253'402'300'799;  // seconds
    return fmt::gmtime(static_cast<std::time_t>(std::clamp<int64_t>(ms / 1000, 0, kEndOf9999)));
}

}  // namespace

std::string date_text(int64_t ms) { return fmt::format("{:%Y-%m-%d %H:%M}", to_calendar(ms)); }
std::string date_stamp(int64_t ms) { return fmt::format("{:%Y%m%d-%H%M%S}", to_calendar(ms)); }

}  // namespace octavo
