// What a build without the CUDA toolkit answers.
#if !defined(OCTAVO_HAS_CUDA)

#include "kernels/cuda/cuda.h"

namespace octavo {

Result<std::unique_ptr<Backend>> make_cuda_backend(const CudaOptions&) {
    return Error{ErrorKind::device,
                 "This program was built without CUDA: choose the CPU, or build it where the CUDA toolkit is."};
}

Result<double> cuda_read_gb_per_s(Backend&, int64_t, int) {
    return Error{ErrorKind::device, "This program was built without CUDA."};
}

}  // namespace octavo

#endif
