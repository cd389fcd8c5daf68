#include "kernels/cuda/host_calls.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "kernels/cuda/driver_calls.h"

namespace octavo::cuda {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kSpinTime = std::chrono::milliseconds(1);
constexpr auto kNap = std::chrono::microseconds(50);
constexpr int kLooksPerClockCheck = 64;

void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

// However the work ends: the stream would wait for ever.
class Raise {
  public:
    explicit Raise(uint32_t& flag) : flag_(flag) {}
    Raise(const Raise&) = delete;
    Raise& operator=(const Raise&) = delete;
    ~Raise() { std::atomic_ref(flag_).store(1, std::memory_order_release); }

  private:
    uint32_t& flag_;
};

}  // namespace

void HostCalls::start(CudaMemory& memory, cudaStream_t stream, bool by_driver) {
    memory_ = &memory;
    stream_ = stream;
    if (!by_driver && flags_work()) return;
    (void)cudaGetLastError();
    flags_ = nullptr;
    memory.note(cudaStreamCreateWithFlags(&host_stream_, cudaStreamNonBlocking));
    for (cudaEvent_t* event : {&may_start_, &done_}) {
        memory.note(cudaEventCreateWithFlags(event, cudaEventDisableTiming));
    }
}

HostCalls::~HostCalls() {
    for (const cudaEvent_t event : {may_start_, done_}) {
        if (event != nullptr) (void)cudaEventDestroy(event);
    }
    if (host_stream_ != nullptr) (void)cudaStreamDestroy(host_stream_);
}

// Drivers differ in what they can do, and in what they can record: that is best found by doing it. Nobody waits here.
bool HostCalls::flags_work() {
    if (!fetch_driver_call("cuStreamWriteValue32", calls_.write)) return false;
    if (!fetch_driver_call("cuStreamWaitValue32", calls_.wait)) return false;
    Result<Buffer> shared = memory_->allocate_shared(sizeof(Flags), "flags");
    if (!shared) return false;
    flag_memory_ = std::move(*shared);
    flags_ = flag_memory_.as<Flags>();
    *flags_ = {0, 1};
    const auto at = [](uint32_t& flag) { return reinterpret_cast<CUdeviceptr>(&flag); };
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    if (cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal) != cudaSuccess) return false;
    const bool asked =
        calls_.write(stream_, at(flags_->host_may_start), 1, CU_STREAM_WRITE_VALUE_DEFAULT) == CUDA_SUCCESS &&
        calls_.wait(stream_, at(flags_->host_is_done), 1, CU_STREAM_WAIT_VALUE_EQ) == CUDA_SUCCESS &&
        calls_.write(stream_, at(flags_->host_is_done), 0, CU_STREAM_WRITE_VALUE_DEFAULT) == CUDA_SUCCESS;
    const bool recorded = cudaStreamEndCapture(stream_, &graph) == cudaSuccess && graph != nullptr;
    bool works = asked && recorded && cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess &&
                 cudaGraphLaunch(executable, stream_) == cudaSuccess && cudaStreamSynchronize(stream_) == cudaSuccess;
    works = works && flags_->host_may_start == 1 && flags_->host_is_done == 0;
    if (executable != nullptr) (void)cudaGraphExecDestroy(executable);
    if (graph != nullptr) (void)cudaGraphDestroy(graph);
    *flags_ = {0, 0};
    return works;
}

void HostCalls::begin(const Work& work, bool recording) {
    if (by_flags()) {
        begun_ = &work;
        if (recording) recorded_.push_back(&work);
        return write(flags_->host_may_start, 1);
    }
    const auto call = [](void* context) { (*static_cast<const Work*>(context))(); };
    memory_->note(cudaEventRecord(may_start_, stream_));
    memory_->note(cudaStreamWaitEvent(host_stream_, may_start_));
    memory_->note(cudaLaunchHostFunc(host_stream_, call, const_cast<Work*>(&work)));
    memory_->note(cudaEventRecord(done_, host_stream_));
}

void HostCalls::join(bool recording) {
    if (!by_flags()) return memory_->note(cudaStreamWaitEvent(stream_, done_));
    wait_for(flags_->host_is_done);
    write(flags_->host_is_done, 0);
    if (!recording) serve(*begun_);
}

// Also where one of them throws the stream comes to its end.
void HostCalls::run(const Works& works) {
    const Work nothing = [] {};
    size_t served = 0;
    try {
        while (served < works.size()) serve(*works[served++]);
    } catch (...) {
        while (served++ < works.size()) serve(nothing);
        throw;
    }
}

void HostCalls::write(uint32_t& flag, uint32_t value) {
    const auto at = reinterpret_cast<CUdeviceptr>(&flag);
    if (calls_.write(stream_, at, value, CU_STREAM_WRITE_VALUE_DEFAULT) != CUDA_SUCCESS) {
        memory_->note(cudaErrorUnknown);
    }
}

void HostCalls::wait_for(uint32_t& flag) {
    const auto at = reinterpret_cast<CUdeviceptr>(&flag);
    if (calls_.wait(stream_, at, 1, CU_STREAM_WAIT_VALUE_EQ) != CUDA_SUCCESS) memory_->note(cudaErrorUnknown);
}

void HostCalls::serve(const Work& work) {
    if (!stream_came_to_it()) return;
    std::atomic_ref(flags_->host_may_start).store(0, std::memory_order_relaxed);
    const Raise raise_when_done(flags_->host_is_done);
    work();
}

// False where it never will: the device has failed.
bool HostCalls::stream_came_to_it() {
    const std::atomic_ref flag(flags_->host_may_start);
    const auto raised = [&] { return flag.load(std::memory_order_acquire) == 1; };
    const auto deadline = Clock::now() + kSpinTime;
    do {
        for (int i = 0; i < kLooksPerClockCheck; ++i) {
            if (raised()) return true;
            pause();
        }
    } while (Clock::now() < deadline);
    while (!raised()) {
        const cudaError_t state = cudaStreamQuery(stream_);
        if (state != cudaErrorNotReady) {
            if (raised()) return true;
            memory_->note(state == cudaSuccess ? cudaErrorUnknown : state);
            return false;
        }
        std::this_thread::sleep_for(kNap);
    }
    return true;
}

}  // namespace octavo::cuda
