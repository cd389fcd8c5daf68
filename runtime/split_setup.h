// How a device and the CPU come to share a model that is too large for the device: the back end over both, and how much
// room its experts may take there.
//
// Threads: the engine's. Errors: ErrorKind::memory.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/backend.h"
#include "kernels/base/yielding_memory.h"
#include "models/model.h"
#include "runtime/memory_plan.h"

namespace octavo {

struct SharedBackend {
    std::unique_ptr<Backend> backend;
    int64_t host_scratch_bytes = 0;  // that it takes of ordinary memory
};

// slice_bytes: of experts that are copied to the device at a time; at least one is. threads: of the CPU, as in
// ThreadPool. experts_yield: what gives way on the device.
Result<SharedBackend> share_with_cpu(std::unique_ptr<Backend> device, const Model& model, int64_t slice_bytes,
                                     int threads, Yielding experts_yield);

// Of `free_bytes` of the device those that experts may take without giving them back at a conversation's first words.
int64_t room_for_experts(const Model& model, const SessionOptions& options, int64_t context_length,
                         const EngineMemory& engine, int64_t free_bytes);

}  // namespace octavo
