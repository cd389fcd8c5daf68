// general.file_type: what quantisers call the mix of types in a file.
//
// Threads: pure function. Source: the published GGUF description.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace octavo {

// "Q4_K_M"; empty for a number that is not known.
std::string_view file_type_name(int64_t number);
// Of the mix of that name, or of the small one ("Q4_K_S") of a type ("Q4_K"); nothing where there is no such number.
std::optional<int64_t> find_file_type(std::string_view name);

}  // namespace octavo
