#include "models/gguf/shard_name.h"

#include <fmt/format.h>

#include <charconv>

namespace octavo {
namespace {

constexpr size_t kDigits = 5;
constexpr std::string_view kOf = "-of-";
constexpr std::string_view kExtension = ".gguf";
constexpr size_t kSuffix = 1 + kDigits + kOf.size() + kDigits + kExtension.size();

int number_in(std::string_view digits) {
    int number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return error == std::errc() && end == digits.data() + digits.size() ? number : 0;
}

}  // namespace

std::string ShardName::file(int wanted) const { return fmt::format("{}-{:05}-of-{:05}.gguf", stem, wanted, count); }

std::optional<ShardName> parse_shard_name(std::string_view name) {
    if (name.size() <= kSuffix || !name.ends_with(kExtension)) return std::nullopt;
    const std::string_view suffix = name.substr(name.size() - kSuffix);
    if (suffix.front() != '-' || suffix.substr(1 + kDigits, kOf.size()) != kOf) return std::nullopt;
    ShardName shard;
    shard.stem = name.substr(0, name.size() - kSuffix);
    shard.number = number_in(suffix.substr(1, kDigits));
    shard.count = number_in(suffix.substr(1 + kDigits + kOf.size(), kDigits));
    if (shard.number < 1 || shard.number > shard.count || shard.count > kMaxShards) return std::nullopt;
    return shard;
}

}  // namespace octavo
