// The model that is part of the executable: a GGUF file's bytes, aligned to 64, valid for the whole run.
// Any thread. Non-goal: knowing what is in them; the GGUF reader does.
#pragma once

#include <cstddef>
#include <span>

namespace octavo {

std::span<const std::byte> bundled_model();

}  // namespace octavo
