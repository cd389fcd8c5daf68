// A back end in two places: everything on a device, but for those experts of a model that stay in ordinary memory
// (Moe::host_experts). For few tokens the CPU computes them where they lie, while the device computes its own; only
// activations travel. For many tokens their weights travel: slices of a layer's experts are copied to the device
// (expert_stream.h) and computed there, which takes about the same time whatever the number of tokens.
//
// Source: the design's targets, sections 3 and 4. Determinism: as that of both back ends; what the CPU computed, or the
// slices in the order of their experts, is added after what the device has computed.
// Threads: as every back end; the CPU's may be called from another thread meanwhile (Backend::start_on_host).
// Non-goals: which experts lie where (placed_weights.h); moving them about as they are used.
#pragma once

#include <memory>

#include "kernels/backend.h"
#include "kernels/base/yielding_memory.h"
#include "kernels/upload_stream.h"

namespace octavo {

struct SplitOptions {
    int hidden = 0;
    int experts = 0;          // of a layer
    int64_t slice_bytes = 0;  // of experts that are copied to the device at a time; room for one at least
    int threads = 0;          // of the CPU, for those copies; as in ThreadPool
    // From so many tokens of a call on, weights travel. Their copy takes about as long as a CPU takes for a few hundred
    // tokens: 256 on the machine of GPU.md, and between 150 and 500 by estimate on laptops. Not measured as it runs:
    // both ways differ in last bits, and the same prompt shall give the same reply.
    int streamed_tokens = 256;
    UploadOptions uploads = {.piece_bytes = size_t{8} << 20};
    // Experts that the device holds as long as nobody else wants the room (memory() asks for it back).
    Yielding experts_yield;
};

// `cpu` works in ordinary memory. ErrorKind::memory where the slices or the activations find no room.
Result<std::unique_ptr<Backend>> make_split_backend(std::unique_ptr<Backend> device, std::unique_ptr<Backend> cpu,
                                                    const SplitOptions& options);
// What it takes of ordinary memory that the device reads by itself.
int64_t split_host_bytes(const SplitOptions& options);

}  // namespace octavo
