#include "ui/number_text.h"

#include <fmt/format.h>

#include <cmath>

namespace octavo {

std::string format_count(int64_t number) {
    std::string digits = fmt::format("{}", number);
    const size_t first = number < 0 ? 1 : 0;
    for (size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, 1, ',');
    return digits;
}

std::string format_size(int64_t bytes) {
    static constexpr const char* units[] = {"KiB", "MiB", "GiB", "TiB"};
    if (bytes < 1024) return fmt::format("{} B", bytes);
    auto amount = static_cast<double>(bytes) / 1024;
    size_t unit = 0;
    // Steps up where rounding would write 1024.
    while (amount >= 1023.95 && unit + 1 < std::size(units)) {
        amount /= 1024;
        ++unit;
    }
    return fmt::format("{:.{}f} {}", amount, amount < 9.995 && unit >= 2 ? 2 : 1, units[unit]);
}

std::string format_tokens(int64_t tokens) {
    if (tokens < 10 * 1024 && tokens % 1024 != 0) return format_count(tokens);
    if (tokens < 1024) return format_count(tokens);
    return fmt::format("{}K", format_count((tokens + 512) / 1024));
}

std::string format_rate(double per_second) {
    if (per_second < 10) return fmt::format("{:.1f} tok/s", per_second);
    return format_count(std::llround(per_second)) + " tok/s";
}

std::string format_seconds(double seconds) {
    if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
    const auto whole = std::llround(seconds);
    if (whole < 60) return fmt::format("{} s", whole);
    if (whole < 3600)
        return whole % 60 == 0 ? fmt::format("{} min", whole / 60) : fmt::format("{} min {} s", whole / 60, whole % 60);
    return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace octavo
