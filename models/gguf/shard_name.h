// Names of the parts of a split model: "name-00002-of-00003.gguf".
//
// Threads: pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace octavo {

inline constexpr int kMaxShards = 1000;

struct ShardName {
    std::string stem;  // "name", with whatever stood before it
    int number = 1;    // from 1
    int count = 1;

    std::string file(int wanted) const;  // of part `wanted`
};

// Nothing where the name is not of that kind or its numbers make no sense, such as more than kMaxShards parts.
std::optional<ShardName> parse_shard_name(std::string_view name);

}  // namespace octavo
