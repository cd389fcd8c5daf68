#include "app/size_text.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>

namespace octavo {
namespace {

struct Suffix {
    std::string_view text;
    int64_t factor;
};

constexpr int64_t kKiB = 1024;
constexpr Suffix kSuffixes[] = {{"", 1},       {"k", kKiB},         {"K", kKiB},
                                {"KiB", kKiB}, {"MiB", kKiB* kKiB}, {"GiB", kKiB* kKiB* kKiB}};

Error bad_size(std::string_view text, const char* why) {
    return {ErrorKind::usage,
            fmt::format("'{}' is not a size: {}; write for example 4096, 16k, 512MiB or 8GiB.", text, why)};
}

}  // namespace

Result<int64_t> parse_size(std::string_view text) {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc::result_out_of_range) return bad_size(text, "the number is too large");
    if (error != std::errc() || value < 0) return bad_size(text, "it does not begin with a number of zero or more");
    const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
    for (const Suffix& suffix : kSuffixes) {
        if (unit != suffix.text) continue;
        if (value > std::numeric_limits<int64_t>::max() / suffix.factor)
            return bad_size(text, "the number is too large");
        return value * suffix.factor;
    }
    return bad_size(text, "its unit is unknown");
}

std::string group_digits(int64_t value) {
    const std::string digits = fmt::format("{}", value);
    const size_t first = value < 0 ? 1 : 0;
    std::string grouped;
    for (size_t at = 0; at < digits.size(); ++at) {
        if (at > first && (digits.size() - at) % 3 == 0) grouped += ',';
        grouped += digits[at];
    }
    return grouped;
}

std::string bytes_text(int64_t bytes) {
    const double value = static_cast<double>(bytes);
    if (bytes < kKiB) return fmt::format("{} B", bytes);
    if (bytes < kKiB * kKiB) return fmt::format("{:.1f} KiB", value / kKiB);
    if (bytes < kKiB * kKiB * kKiB) return fmt::format("{:.1f} MiB", value / (kKiB * kKiB));
    return fmt::format("{:.2f} GiB", value / (kKiB * kKiB * kKiB));
}

}  // namespace octavo
