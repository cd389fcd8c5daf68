// The door to the CUDA back end: everything else in this folder is private to it. A build without the CUDA toolkit has
// this door too, and always says that it has no such back end.
//
// Threads: as for every back end, one at a time.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/backend.h"
#include "kernels/base/error.h"

namespace octavo {

struct CudaOptions {
    int64_t budget_bytes = 0;  // most GPU memory to take, a hard promise; 0: what is free
    // Products and attention in float32 throughout, as the CPU does them. Otherwise long products and attention run on
    // the tensor cores: 16-bit factors, float32 sums.
    bool float32 = false;
    // Ordinary code between operations is called by the driver, which always works; else by flags where it can.
    bool host_by_driver = true;
};

// On the first GPU that the driver lists. ErrorKind::device, in a sentence that says what is missing: the driver, a
// GPU, or code for this GPU in this build.
Result<std::unique_ptr<Backend>> make_cuda_backend(const CudaOptions& options);

// What the GPU's memory gives when it is simply read, in 10^9 bytes a second: the median of several passes over a
// buffer of `bytes`. `backend` is one of these; ErrorKind::memory, device.
// By `launches` kernels, each an equal part, one after the other in a recorded graph.
Result<double> cuda_read_gb_per_s(Backend& backend, int64_t bytes, int launches = 1);

}  // namespace octavo
