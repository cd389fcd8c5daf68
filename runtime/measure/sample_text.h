// English text made from a seed, for measurements that need a long prompt and have no file: narration, facts hidden in
// it, and now and then a question about an earlier fact with its answer, so that a model gains from looking far back.
//
// Threads: pure function.
// Non-goals: good literature; scoring answers (see recall).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace octavo {

// At least `min_bytes` of ASCII, the same for the same seed; a longer text begins with the shorter one.
std::string sample_text(uint64_t seed, size_t min_bytes);

}  // namespace octavo
