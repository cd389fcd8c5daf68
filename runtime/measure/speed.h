// How fast a model reads and writes, measured on an engine at a chosen depth of the context.
//
// Tokens are random ids, the same on every machine, so that experts are used as evenly as they can be.
// Threads: one caller; it waits for the engine.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/base/job.h"
#include "runtime/engine.h"

namespace octavo {

struct SpeedRequest {
    int64_t depth = 0;           // tokens in the context before the measurement
    int64_t prefill_tokens = 0;  // 0: not measured
    int64_t decode_tokens = 0;   // 0: not measured
    int repeat = 1;
};

struct SpeedReport {  // medians over the repeats
    double prefill_tokens_per_s = 0;
    double decode_tokens_per_s = 0;
    int64_t bytes_per_token = 0;  // read by decode: weights, KV and recurrent state (see traffic.h)
    double gb_per_s = 0;          // the same, 10^9 bytes a second
};

// One report for each of `settings`. The context is read once, under the first, and then converted; each repeat takes
// all settings in turn, so that a machine that slows down does so for all of them. ErrorKind::context_full when depth
// and tokens do not fit, usage for settings that do not suit the model.
Result<std::vector<SpeedReport>> measure_speed(Engine& engine, const SpeedRequest& request,
                                               std::span<const KvSettings> settings, Job& job);

}  // namespace octavo
