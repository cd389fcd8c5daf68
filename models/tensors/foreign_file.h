// What lies under a model's name when it is no model: what downloads leave when they go wrong.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace octavo {

// "a web page ...", with what to do, by the file's first bytes; empty where they tell nothing.
std::string_view foreign_file(std::span<const std::byte> file);

}  // namespace octavo
