#include <algorithm>
#include <vector>

#include "kernels/cuda/cuda.h"
#include "kernels/cuda/device.cuh"

namespace octavo {
namespace {

constexpr int kThreads = 512;
constexpr int kPasses = 9;
constexpr int kRepeats = 4;  // without a pause

// Every thread reads 16 bytes at a time, four of them under way; the sums are written so that no read is left out.
__global__ void read_kernel(const uint4* data, int64_t count, unsigned* sums) {
    constexpr int kAhead = 4;
    unsigned sum = 0;
    const int64_t step = int64_t{gridDim.x} * blockDim.x;
    int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    uint4 values[kAhead];
    for (; i + (kAhead - 1) * step < count; i += kAhead * step) {
#pragma unroll
        for (int j = 0; j < kAhead; ++j) values[j] = data[i + j * step];
#pragma unroll
        for (const uint4& value : values) sum += value.x ^ value.y ^ value.z ^ value.w;
    }
#pragma unroll
    for (int j = 0; j < kAhead; ++j) values[j] = i + j * step < count ? data[i + j * step] : uint4{};
#pragma unroll
    for (const uint4& value : values) sum += value.x ^ value.y ^ value.z ^ value.w;
    sums[int64_t{blockIdx.x} * blockDim.x + threadIdx.x] = sum;
}

// Events that go away with their scope.
class Timer {
  public:
    Timer() { cudaEventCreate(&start_), cudaEventCreate(&stop_); }
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;
    ~Timer() { cudaEventDestroy(start_), cudaEventDestroy(stop_); }
    void start(cudaStream_t stream) { cudaEventRecord(start_, stream); }
    // Milliseconds since start; below 0 where the GPU failed.
    float stop(cudaStream_t stream) {
        float ms = -1;
        cudaEventRecord(stop_, stream);
        if (cudaEventSynchronize(stop_) != cudaSuccess || cudaEventElapsedTime(&ms, start_, stop_) != cudaSuccess)
            return -1;
        return ms;
    }

  private:
    cudaEvent_t start_ = nullptr;
    cudaEvent_t stop_ = nullptr;
};

// A stream that goes away with its scope, and the graph recorded from it.
struct Recording {
    cudaStream_t stream = nullptr;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;

    Recording() { cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking); }
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;
    ~Recording() {
        if (executable != nullptr) cudaGraphExecDestroy(executable);
        if (graph != nullptr) cudaGraphDestroy(graph);
        if (stream != nullptr) cudaStreamDestroy(stream);
    }
};

}  // namespace

Result<double> cuda_read_gb_per_s(Backend& backend, int64_t bytes, int launches) {
    int device = 0;
    int processors = 0;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess) {
        return Error{ErrorKind::device, "The GPU does not answer."};
    }
    const int blocks = processors * 4;
    Memory& memory = backend.memory();
    const int64_t count = bytes / launches / static_cast<int64_t>(sizeof(uint4));  // of a launch
    Result<Buffer> data =
        memory.allocate(static_cast<size_t>(count * launches) * sizeof(uint4), "a bandwidth measurement");
    Result<Buffer> sums = memory.allocate(static_cast<size_t>(blocks) * kThreads * sizeof(unsigned), "its sums");
    if (!data) return data.error();
    if (!sums) return sums.error();
    memory.clear(data->data(), data->bytes());
    if (Status status = backend.finish(); !status) return status.error();

    Recording recording;
    cudaStreamBeginCapture(recording.stream, cudaStreamCaptureModeThreadLocal);
    for (int i = 0; i < launches; ++i) {
        read_kernel<<<blocks, kThreads, 0, recording.stream>>>(data->as<const uint4>() + i * count, count,
                                                               sums->as<unsigned>());
    }
    if (cudaStreamEndCapture(recording.stream, &recording.graph) != cudaSuccess ||
        cudaGraphInstantiate(&recording.executable, recording.graph, 0) != cudaSuccess) {
        return Error{ErrorKind::device, "The GPU's bandwidth could not be measured: its driver records no kernels."};
    }
    Timer timer;
    std::vector<float> ms;
    for (int pass = 0; pass < kPasses; ++pass) {
        timer.start(recording.stream);
        for (int i = 0; i < kRepeats; ++i) (void)cudaGraphLaunch(recording.executable, recording.stream);
        ms.push_back(timer.stop(recording.stream) / kRepeats);
    }
    std::sort(ms.begin(), ms.end());
    if (ms.front() <= 0) return Error{ErrorKind::device, "The GPU failed while its bandwidth was measured."};
    return static_cast<double>(data->bytes()) / (ms[kPasses / 2] * 1e6);
}

}  // namespace octavo
