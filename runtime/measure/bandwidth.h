// What the machine's memory gives when it is simply read: the yardstick for decode speed, which reads every active
// weight once a token. A small model stays in the processor's caches, so a buffer of the same size is the fairer
// yardstick for it; a buffer far beyond the caches is the one for large models.
//
// Threads: call from one thread while nothing else computes.
#pragma once

#include <cstdint>

#include "kernels/base/error.h"
#include "runtime/engine.h"

namespace octavo {

struct ReadBandwidth {
    double gb_per_s = 0;  // 10^9 bytes a second, the best of several passes
    int threads = 0;      // 0: a GPU reads
    int64_t buffer_bytes = 0;
};

// Streams again and again through a buffer with all of `threads` (0: one per physical core), for about half a second.
// `buffer_bytes` 0: larger than the caches, as far as free memory allows. ErrorKind::memory where it does not fit.
Result<ReadBandwidth> measure_read_bandwidth(int threads, int64_t buffer_bytes = 0);

// The same of the memory that an engine's weights and cache are in: the GPU's where it runs there. `threads`: of the
// CPU.
Result<ReadBandwidth> measure_read_bandwidth(Engine& engine, int threads, int64_t buffer_bytes = 0);

}  // namespace octavo
