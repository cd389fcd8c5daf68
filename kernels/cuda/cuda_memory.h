// A GPU's memory under a budget. Buffers come from the runtime's allocator; growable ranges are reserved addresses with
// pages of the device's granularity mapped behind them as they grow (the driver's virtual memory calls, fetched at run
// time, so that nothing links the driver).
//
// Errors: what does not fit the budget, or what is free (other programs take their share), is refused with the bytes
// wanted and left. A transfer that fails is kept and told by the back end's `finish`.
// Threads: one at a time.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/base/memory.h"

namespace octavo::cuda {

// The driver's virtual memory calls.
struct VirtualMemoryCalls {
    CUresult (*address_reserve)(CUdeviceptr*, size_t, size_t, CUdeviceptr, unsigned long long) = nullptr;
    CUresult (*address_free)(CUdeviceptr, size_t) = nullptr;
    CUresult (*create)(CUmemGenericAllocationHandle*, size_t, const CUmemAllocationProp*, unsigned long long) = nullptr;
    CUresult (*release)(CUmemGenericAllocationHandle) = nullptr;
    CUresult (*map)(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long) = nullptr;
    CUresult (*unmap)(CUdeviceptr, size_t) = nullptr;
    CUresult (*set_access)(CUdeviceptr, size_t, const CUmemAccessDesc*, size_t) = nullptr;
    CUresult (*granularity)(size_t*, const CUmemAllocationProp*, CUmemAllocationGranularity_flags) = nullptr;

    bool complete() const {
        return address_reserve && address_free && create && release && map && unmap && set_access && granularity;
    }
};

class CudaMemory final : public Memory {
  public:
    // `stream` orders the transfers; `budget` bytes 0: no limit but what is free. `free_at_start`: of the device,
    // before anything was loaded there.
    Status start(int device, cudaStream_t stream, size_t budget, size_t free_at_start);

    std::string_view place() const override { return "gpu"; }
    bool on_host() const override { return false; }
    size_t free_bytes() const override;
    Status room_for(size_t bytes, const char* what) const override;
    size_t page_bytes() const override { return page_bytes_; }
    size_t taken_bytes() const override { return taken_ + driver_bytes_; }
    // What is gone from the device since the start and was not taken here: kernels, recorded passes, the driver's own
    // rounding. Measured now, and part of the budget from here on. Other programs that come meanwhile are counted in.
    size_t measure_driver_bytes();
    Result<Buffer> allocate(size_t bytes, const char* what) override;
    Result<std::unique_ptr<GrowableRange>> reserve(size_t bytes, const char* what) override;
    Result<Buffer> allocate_shared(size_t bytes, const char* what) override;
    void upload(void* to, const void* from_host, size_t bytes) override;
    void download(void* to_host, const void* from, size_t bytes) override;
    void copy(void* to, const void* from, size_t bytes) override;
    void clear(void* to, size_t bytes) override;

    // Keeps the first failure of a call on the device.
    void note(cudaError_t error) {
        if (error_ == cudaSuccess) error_ = error;
    }
    // What was kept since the last time.
    cudaError_t take_error() {
        const cudaError_t error = error_;
        error_ = cudaSuccess;
        return error;
    }

  private:
    friend class CudaRange;
    size_t left_of_budget() const { return budget_ > taken_bytes() ? budget_ - taken_bytes() : 0; }

    int device_ = 0;
    cudaStream_t stream_ = nullptr;
    size_t budget_ = 0;  // 0: none
    size_t taken_ = 0;   // by buffers and committed pages
    size_t driver_bytes_ = 0;
    size_t free_at_start_ = 0;
    VirtualMemoryCalls calls_;
    CUmemAllocationProp pages_ = {};
    size_t page_bytes_ = 0;
    cudaError_t error_ = cudaSuccess;
};

}  // namespace octavo::cuda
