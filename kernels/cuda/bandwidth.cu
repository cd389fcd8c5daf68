#include <algorithm>
#include <vector>

#include "kernels/cuda/cuda.h"
#include "kernels/cuda/device.cuh"

namespace octavo {
namespace {

constexpr int kThreads = 512;
constexpr int kPasses = 9;

// Every thread reads 16 bytes at a time, four of them under way; the sums are written so that no read is left out.
__global__ void read_kernel(const uint4* data, int64_t count, unsigned* sums) {
    unsigned sum = 0;
    const int64_t step = int64_t{gridDim.x} * blockDim.x;
    int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    for (; i + 3 * step < count; i += 4 * step) {
        const uint4 a = data[i], b = data[i + step], c = data[i + 2 * step], d = data[i + 3 * step];
        sum += (a.x ^ a.y ^ a.z ^ a.w) + (b.x ^ b.y ^ b.z ^ b.w) + (c.x ^ c.y ^ c.z ^ c.w) + (d.x ^ d.y ^ d.z ^ d.w);
    }
    for (; i < count; i += step) sum += data[i].x ^ data[i].y ^ data[i].z ^ data[i].w;
    sums[int64_t{blockIdx.x} * blockDim.x + threadIdx.x] = sum;
}

// Events that go away with their scope.
class Timer {
  public:
    Timer() { cudaEventCreate(&start_), cudaEventCreate(&stop_); }
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;
    ~Timer() { cudaEventDestroy(start_), cudaEventDestroy(stop_); }
    void start() { cudaEventRecord(start_); }
    // Milliseconds since start; below 0 where the GPU failed.
    float stop() {
        float ms = -1;
        cudaEventRecord(stop_);
        if (cudaEventSynchronize(stop_) != cudaSuccess || cudaEventElapsedTime(&ms, start_, stop_) != cudaSuccess)
            return -1;
        return ms;
    }

  private:
    cudaEvent_t start_ = nullptr;
    cudaEvent_t stop_ = nullptr;
};

}  // namespace

Result<double> cuda_read_gb_per_s(Backend& backend, int64_t bytes) {
    int device = 0;
    int processors = 0;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess) {
        return Error{ErrorKind::device, "The GPU does not answer."};
    }
    const int blocks = processors * 4;
    Memory& memory = backend.memory();
    const int64_t count = bytes / static_cast<int64_t>(sizeof(uint4));
    Result<Buffer> data = memory.allocate(static_cast<size_t>(count) * sizeof(uint4), "a bandwidth measurement");
    Result<Buffer> sums = memory.allocate(static_cast<size_t>(blocks) * kThreads * sizeof(unsigned), "its sums");
    if (!data) return data.error();
    if (!sums) return sums.error();
    memory.clear(data->data(), data->bytes());
    if (Status status = backend.finish(); !status) return status.error();

    Timer timer;
    std::vector<float> ms;
    for (int pass = 0; pass < kPasses; ++pass) {
        timer.start();
        read_kernel<<<blocks, kThreads>>>(data->as<const uint4>(), count, sums->as<unsigned>());
        ms.push_back(timer.stop());
    }
    std::sort(ms.begin(), ms.end());
    if (ms.front() <= 0) return Error{ErrorKind::device, "The GPU failed while its bandwidth was measured."};
    return static_cast<double>(data->bytes()) / (ms[kPasses / 2] * 1e6);
}

}  // namespace octavo
