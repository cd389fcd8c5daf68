// Copies on a stream of their own, from pinned memory, so that they run beside the kernels (upload_stream.h).
#pragma once

#include "kernels/cuda/cuda_memory.h"
#include "kernels/upload_stream.h"

namespace octavo::cuda {

// `operations`: the stream whose kernels read what is copied.
Result<std::unique_ptr<UploadStream>> make_cuda_upload_stream(CudaMemory& memory, cudaStream_t operations,
                                                              const UploadOptions& options);

}  // namespace octavo::cuda
