// What the machine's memory gives when it is simply read: the yardstick for decode speed, which reads every active
// weight once a token.
//
// Threads: call from one thread while nothing else computes.
#pragma once

#include <cstdint>

#include "kernels/base/error.h"

namespace octavo {

struct ReadBandwidth {
    double gb_per_s = 0;  // 10^9 bytes a second, the best of several passes
    int threads = 0;
    int64_t buffer_bytes = 0;
};

// Streams through a buffer much larger than the caches with all of `threads` (0: one per physical core). Takes about
// half a second. ErrorKind::memory where the buffer does not fit.
Result<ReadBandwidth> measure_read_bandwidth(int threads);

}  // namespace octavo
