#include "kernels/base/memory_error.h"

#include <fmt/format.h>

namespace octavo {

std::string format_bytes(uint64_t bytes) {
    if (bytes < 1024) return fmt::format("{} bytes", bytes);
    static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = static_cast<double>(bytes) / 1024;
    int unit = 0;
    while (value >= 1023.995 && unit < 5) {  // what would print as 1024.00 belongs to the next unit
        value /= 1024;
        ++unit;
    }
    return fmt::format("{:.2f} {}", value, kUnits[unit]);
}

Error not_enough_memory(const char* what, uint64_t wanted_bytes, uint64_t free_bytes) {
    const std::string available =
        free_bytes == 0 ? std::string("the system refused") : format_bytes(free_bytes) + " are free";
    return {ErrorKind::memory, fmt::format("Not enough memory for {}: {} wanted, {}; close other programs or choose "
                                           "a smaller context or model.",
                                           what, format_bytes(wanted_bytes), available)};
}

}  // namespace octavo
