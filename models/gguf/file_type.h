// general.file_type: what quantisers call the mix of types in a file.
//
// Threads: pure function. Source: the published GGUF description.
#pragma once

#include <cstdint>
#include <string_view>

namespace octavo {

// "Q4_K_M"; empty for a number that is not known.
std::string_view file_type_name(int64_t number);

}  // namespace octavo
