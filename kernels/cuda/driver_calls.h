// Entry points of the driver, fetched at run time, so that nothing links it.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

namespace octavo::cuda {

// Whether this driver has it.
template <class Call>
bool fetch_driver_call(const char* name, Call& call) {
    void* entry = nullptr;
    cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    constexpr unsigned kVersion = 12000;
    const cudaError_t error = cudaGetDriverEntryPointByVersion(name, &entry, kVersion, cudaEnableDefault, &found);
    if (error != cudaSuccess || found != cudaDriverEntryPointSuccess) return false;
    call = reinterpret_cast<Call>(entry);
    return true;
}

}  // namespace octavo::cuda
