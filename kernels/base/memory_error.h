// How a refusal for lack of memory is worded: which buffer, bytes wanted, bytes free.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/base/error.h"

namespace octavo {

// For people, in binary units: "512 bytes", "1.50 MiB", "7.45 GiB".
std::string format_bytes(uint64_t bytes);

// ErrorKind::memory. `what` names the buffer; free_bytes 0: not known.
Error not_enough_memory(const char* what, uint64_t wanted_bytes, uint64_t free_bytes);

}  // namespace octavo
