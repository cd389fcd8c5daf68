// Kernels that may start while the one before them still runs (from 9.0 on): they do what needs none of its results,
// then wait for it. Elsewhere they start after it, as kernels always do.
//
// A kernel launched early may read, before it waits, only what no kernel of the recorded pass writes; and every block
// waits before it ends, so that whoever waits for the kernel has waited for all before it.
#pragma once

#include <cuda_runtime.h>

namespace octavo::cuda {

// Lets the next kernel start as soon as there is room beside this one.
__device__ inline void let_next_start() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}
// Until the kernels before have ended and what they wrote is seen.
__device__ inline void await_previous() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

template <class Op>
void launch(void (*kernel)(Op), dim3 blocks, int threads, int shared_bytes, cudaStream_t stream, bool early,
            const Op& op) {
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = blocks;
    config.blockDim = dim3(static_cast<unsigned>(threads));
    config.dynamicSmemBytes = static_cast<size_t>(shared_bytes);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = early ? 1 : 0;
    (void)cudaLaunchKernelEx(&config, kernel, op);  // `launched` asks for its error
}

}  // namespace octavo::cuda
