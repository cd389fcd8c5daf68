// What the engine does now, for the status line.
//
// Threads: values.
#pragma once

#include <cstdint>
#include <string>

namespace octavo {

enum class EnginePhase {
    no_model,
    loading,
    idle,
    prefilling,
    decoding,
    converting,  // the KV cache changes its format
    measuring,   // a recall check runs
    failed,
};

struct EngineState {
    EnginePhase phase = EnginePhase::no_model;
    std::string model = {};   // "Pocket"
    std::string scheme = {};  // "q4_0, window 128, sinks 64"
    std::string device = {};  // "cpu, avx512, 2 threads"
    std::string error = {};   // with EnginePhase::failed

    // Of what runs now: bytes while loading, prompt tokens (reused ones included) while prefilling, tokens written
    // while decoding, layers while converting, questions while measuring.
    int64_t done = 0;
    int64_t total = 0;  // 0: not known
    int64_t reused_tokens = 0;
    double tokens_per_s = 0;
    double seconds_left = -1;  // -1: not known
    bool stopping = false;     // a stop was asked for

    bool busy() const {
        return phase == EnginePhase::loading || phase == EnginePhase::prefilling || phase == EnginePhase::decoding ||
               phase == EnginePhase::converting || phase == EnginePhase::measuring;
    }
};

}  // namespace octavo
