#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/device.cuh"

namespace octavo::cuda {
namespace {

constexpr int kThreads = 128;

// Input of channel c at time t, where -1 is the newest of the state.
__device__ float input_at(const CausalConv& op, int64_t t, int64_t c) {
    return t >= 0 ? op.x[t * op.channels + c] : op.state[(op.kernel - 1 + t) * op.channels + c];
}

__device__ void convolve(const CausalConv& op, int64_t t, int64_t c) {
    float sum = 0;
    for (int j = 0; j < op.kernel; ++j) {
        sum = fmaf(op.weight[c * op.kernel + j], input_at(op, t - (op.kernel - 1) + j, c), sum);
    }
    op.y[t * op.channels + c] = silu(sum);
}

// Slots are overwritten oldest first; what a slot takes lies behind it.
__device__ void advance_state(const CausalConv& op, int64_t c) {
    for (int i = 0; i < op.kernel - 1; ++i) {
        op.state[int64_t{i} * op.channels + c] = input_at(op, int64_t{op.tokens} - (op.kernel - 1) + i, c);
    }
}

__global__ void conv_kernel(CausalConv op) {
    const int64_t c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < op.channels) convolve(op, blockIdx.y, c);
}

__global__ void state_kernel(CausalConv op) {
    const int64_t c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < op.channels) advance_state(op, c);
}

__global__ void one_token_kernel(CausalConv op) {
    const int64_t c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= op.channels) return;
    convolve(op, 0, c);
    advance_state(op, c);
}

}  // namespace

void CudaBackend::causal_conv(const CausalConv& op) {
    const auto blocks = static_cast<unsigned>(ceil_div(op.channels, kThreads));
    if (op.tokens == 1) {
        one_token_kernel<<<blocks, kThreads, 0, stream_>>>(op);
    } else {
        conv_kernel<<<dim3(blocks, static_cast<unsigned>(op.tokens)), kThreads, 0, stream_>>>(op);
        launched();
        state_kernel<<<blocks, kThreads, 0, stream_>>>(op);
    }
    launched();
}

}  // namespace octavo::cuda
