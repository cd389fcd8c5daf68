#include "kernels/cuda/cuda_memory.h"

#include <algorithm>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "kernels/base/memory_error.h"
#include "kernels/cuda/driver_calls.h"

namespace octavo::cuda {
namespace {

// Buffers are rounded up to this in the accounts: what the runtime's allocator hands out at least.
constexpr size_t kBufferGrain = 512;

size_t round_up(size_t bytes, size_t grain) { return (bytes + grain - 1) / grain * grain; }
size_t whole_mib(size_t bytes) { return (bytes + (size_t{1} << 20) - 1) >> 20; }

VirtualMemoryCalls fetch_calls() {
    VirtualMemoryCalls calls;
    fetch_driver_call("cuMemAddressReserve", calls.address_reserve);
    fetch_driver_call("cuMemAddressFree", calls.address_free);
    fetch_driver_call("cuMemCreate", calls.create);
    fetch_driver_call("cuMemRelease", calls.release);
    fetch_driver_call("cuMemMap", calls.map);
    fetch_driver_call("cuMemUnmap", calls.unmap);
    fetch_driver_call("cuMemSetAccess", calls.set_access);
    fetch_driver_call("cuMemGetAllocationGranularity", calls.granularity);
    return calls;
}

}  // namespace

class CudaRange final : public GrowableRange {
  public:
    CudaRange(CudaMemory& memory, CUdeviceptr base, size_t reserved, const char* what)
        : memory_(memory), base_(base), reserved_(reserved), what_(what) {}
    CudaRange(const CudaRange&) = delete;
    CudaRange& operator=(const CudaRange&) = delete;
    ~CudaRange() override {
        shrink_to(0);
        memory_.calls_.address_free(base_, reserved_);
    }

    std::byte* data() const override { return reinterpret_cast<std::byte*>(base_); }
    size_t committed_bytes() const override { return committed_; }

    Status commit(size_t bytes) override {
        if (bytes > reserved_) {
            return Error{ErrorKind::memory, std::string("Not enough room for ") + what_ + ": " + format_bytes(bytes) +
                                                " wanted, " + format_bytes(reserved_) + " reserved."};
        }
        const size_t wanted = round_up(bytes, memory_.page_bytes_);
        if (wanted <= committed_) {
            shrink_to(wanted);
            return {};
        }
        return grow_by(wanted - committed_);
    }

  private:
    struct Piece {
        CUmemGenericAllocationHandle handle;
        size_t offset;
        size_t bytes;
    };

    Status grow_by(size_t bytes) {
        if (Status status = memory_.room_for(bytes, what_); !status) return status;
        const VirtualMemoryCalls& calls = memory_.calls_;
        Piece piece{0, committed_, bytes};
        if (calls.create(&piece.handle, bytes, &memory_.pages_, 0) != CUDA_SUCCESS) return refused(bytes);
        const CUdeviceptr at = base_ + piece.offset;
        if (calls.map(at, bytes, 0, piece.handle, 0) != CUDA_SUCCESS) {
            calls.release(piece.handle);
            return refused(bytes);
        }
        CUmemAccessDesc access = {};
        access.location = memory_.pages_.location;
        access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        if (calls.set_access(at, bytes, &access, 1) != CUDA_SUCCESS) {
            calls.unmap(at, bytes);
            calls.release(piece.handle);
            return refused(bytes);
        }
        pieces_.push_back(piece);
        committed_ += bytes;
        memory_.taken_ += bytes;
        memory_.clear(reinterpret_cast<void*>(at), bytes);
        return {};
    }

    // Pages can only be given back by the piece that they came in; a piece that is needed in part stays.
    void shrink_to(size_t bytes) {
        bool waited = false;
        while (!pieces_.empty() && pieces_.back().offset >= bytes) {
            if (!waited) memory_.note(cudaStreamSynchronize(memory_.stream_));  // nothing may still use them
            waited = true;
            const Piece piece = pieces_.back();
            pieces_.pop_back();
            memory_.calls_.unmap(base_ + piece.offset, piece.bytes);
            memory_.calls_.release(piece.handle);
            committed_ -= piece.bytes;
            memory_.taken_ -= piece.bytes;
        }
    }

    Error refused(size_t bytes) const { return not_enough_memory(what_, bytes, memory_.free_bytes()); }

    CudaMemory& memory_;
    CUdeviceptr base_;
    size_t reserved_;
    const char* what_;
    size_t committed_ = 0;
    std::vector<Piece> pieces_;
};

Status CudaMemory::start(int device, cudaStream_t stream, size_t budget, size_t free_at_start) {
    device_ = device;
    stream_ = stream;
    budget_ = budget;
    free_at_start_ = free_at_start;
    calls_ = fetch_calls();
    pages_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    pages_.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    pages_.location.id = device;
    if (!calls_.complete() ||
        calls_.granularity(&page_bytes_, &pages_, CU_MEM_ALLOC_GRANULARITY_MINIMUM) != CUDA_SUCCESS ||
        page_bytes_ == 0) {
        return Error{ErrorKind::device,
                     "The GPU's driver has no virtual memory calls; install a newer driver or use --device cpu."};
    }
    return {};
}

size_t CudaMemory::measure_driver_bytes() {
    size_t free = 0;
    size_t total = 0;
    if (cudaMemGetInfo(&free, &total) != cudaSuccess) return driver_bytes_;
    const size_t gone = free_at_start_ > free ? free_at_start_ - free : 0;
    driver_bytes_ = std::max(driver_bytes_, gone > taken_ ? gone - taken_ : 0);
    return driver_bytes_;
}

size_t CudaMemory::free_bytes() const {
    size_t free = 0;
    size_t total = 0;
    if (cudaMemGetInfo(&free, &total) != cudaSuccess) return 0;
    if (budget_ == 0) return free;
    return std::min(free, left_of_budget());
}

Status CudaMemory::room_for(size_t bytes, const char* what) const {
    size_t free = 0;
    size_t total = 0;
    if (cudaMemGetInfo(&free, &total) != cudaSuccess) {
        return Error{ErrorKind::device, "The GPU does not answer; restart the program."};
    }
    if (budget_ != 0 && bytes > left_of_budget()) {
        return Error{ErrorKind::memory, std::string("Not enough GPU memory for ") + what + ": " + format_bytes(bytes) +
                                            " wanted, " + format_bytes(left_of_budget()) + " left of the budget of " +
                                            format_bytes(budget_) + "; raise --gpu-budget to " +
                                            std::to_string(whole_mib(taken_bytes() + bytes)) +
                                            " MiB or choose a smaller context or scheme."};
    }
    if (bytes > free) {
        const size_t others = total > free + taken_bytes() ? total - free - taken_bytes() : 0;
        return Error{ErrorKind::memory, std::string("Not enough GPU memory for ") + what + ": " + format_bytes(bytes) +
                                            " wanted, " + format_bytes(free) + " free of " + format_bytes(total) +
                                            "; other programs and the driver hold " + format_bytes(others) + "."};
    }
    return {};
}

Result<Buffer> CudaMemory::allocate(size_t bytes, const char* what) {
    if (bytes == 0) return Buffer();
    const size_t rounded = round_up(bytes, kBufferGrain);
    if (Status status = room_for(rounded, what); !status) return status.error();
    void* data = nullptr;
    if (cudaMalloc(&data, rounded) != cudaSuccess) {
        (void)cudaGetLastError();  // refused, not broken
        return not_enough_memory(what, rounded, free_bytes());
    }
    taken_ += rounded;
    return Buffer(static_cast<std::byte*>(data), bytes, this, [](void* owner, std::byte* freed, size_t size) {
        auto& memory = *static_cast<CudaMemory*>(owner);
        memory.note(cudaFree(freed));
        memory.taken_ -= round_up(size, kBufferGrain);
    });
}

Result<std::unique_ptr<GrowableRange>> CudaMemory::reserve(size_t bytes, const char* what) {
    const size_t rounded = round_up(std::max<size_t>(bytes, 1), page_bytes_);
    CUdeviceptr base = 0;
    if (calls_.address_reserve(&base, rounded, 0, 0, 0) != CUDA_SUCCESS) {
        return Error{ErrorKind::memory,
                     std::string("Cannot reserve ") + format_bytes(bytes) + " of GPU addresses for " + what + "."};
    }
    return std::unique_ptr<GrowableRange>(std::make_unique<CudaRange>(*this, base, rounded, what));
}

// Pinned, so that the GPU reads and writes it by itself.
Result<Buffer> CudaMemory::allocate_shared(size_t bytes, const char* what) {
    if (bytes == 0) return Buffer();
    void* data = nullptr;
    if (cudaHostAlloc(&data, bytes, cudaHostAllocMapped) != cudaSuccess) {
        (void)cudaGetLastError();  // refused, not broken
        return Error{ErrorKind::memory, std::string("The system does not let the GPU share ") + format_bytes(bytes) +
                                            " of ordinary memory for " + what +
                                            "; close other programs or use --device cpu."};
    }
    return Buffer(static_cast<std::byte*>(data), bytes, this, [](void* owner, std::byte* freed, size_t) {
        static_cast<CudaMemory*>(owner)->note(cudaFreeHost(freed));
    });
}

void CudaMemory::upload(void* to, const void* from_host, size_t bytes) {
    if (bytes > 0) note(cudaMemcpyAsync(to, from_host, bytes, cudaMemcpyHostToDevice, stream_));
}

void CudaMemory::download(void* to_host, const void* from, size_t bytes) {
    if (bytes == 0) return;
    note(cudaMemcpyAsync(to_host, from, bytes, cudaMemcpyDeviceToHost, stream_));
    note(cudaStreamSynchronize(stream_));
}

void CudaMemory::copy(void* to, const void* from, size_t bytes) {
    if (bytes > 0) note(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_));
}

void CudaMemory::clear(void* to, size_t bytes) {
    if (bytes > 0) note(cudaMemsetAsync(to, 0, bytes, stream_));
}

}  // namespace octavo::cuda
