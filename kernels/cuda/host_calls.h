// Ordinary code between the kernels of a stream, beside some of them. The stream and the thread that calls the back end
// tell each other how far they are by two flags in pinned memory: the stream writes one and waits for the other (stream
// memory operations of the driver), the thread looks at one, does the work and writes the other. Where the driver has
// no such operations (Windows' WDDM), it calls the host itself, on a thread of its own, which takes it longer.
//
// A recorded pass keeps the operations on the flags; whoever launches it calls `run` with what was recorded.
//
// Threads: the one that calls the back end. It spins for a millisecond, then looks every now and then.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "kernels/cuda/cuda_memory.h"

namespace octavo::cuda {

class HostCalls {
  public:
    using Work = std::function<void()>;
    using Works = std::vector<const Work*>;

    HostCalls() = default;
    HostCalls(const HostCalls&) = delete;
    HostCalls& operator=(const HostCalls&) = delete;
    ~HostCalls();  // the stream has come to its end

    // by_driver: by the driver's own calls even where there could be flags.
    void start(CudaMemory& memory, cudaStream_t stream, bool by_driver);
    bool by_flags() const { return flags_ != nullptr; }

    // See Backend::start_on_host and join_host. `work` stays where it is.
    void begin(const Work& work, bool recording);
    void join(bool recording);

    // What the thread has to do for a recorded pass, in order, of all that began since the last time.
    Works take_recorded() { return std::exchange(recorded_, {}); }
    // Does it, once that was launched.
    void run(const Works& works);

  private:
    // In memory that both sides see. 1: raised; whoever waited for it lowers it.
    struct Flags {
        uint32_t host_may_start;
        uint32_t host_is_done;
    };
    struct StreamCalls {
        CUresult (*write)(CUstream, CUdeviceptr, cuuint32_t, unsigned) = nullptr;
        CUresult (*wait)(CUstream, CUdeviceptr, cuuint32_t, unsigned) = nullptr;
    };

    bool flags_work();
    void write(uint32_t& flag, uint32_t value);
    void wait_for(uint32_t& flag);
    void serve(const Work& work);
    bool stream_came_to_it();

    CudaMemory* memory_ = nullptr;
    cudaStream_t stream_ = nullptr;
    Buffer flag_memory_;
    Flags* flags_ = nullptr;  // nullptr: by the driver's calls
    StreamCalls calls_;
    const Work* begun_ = nullptr;
    Works recorded_;
    // By the driver's calls: they come on a stream of their own.
    cudaStream_t host_stream_ = nullptr;
    cudaEvent_t may_start_ = nullptr;
    cudaEvent_t done_ = nullptr;
};

}  // namespace octavo::cuda
