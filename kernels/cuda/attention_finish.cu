// The shares of a split sequence, added up in their order.
#include "kernels/cuda/attention.cuh"

namespace octavo::cuda {
namespace {

__device__ inline float factor_of(float share, float largest) {
    return share == -INFINITY ? 0.0f : exp2_fast(share - largest);
}

__device__ inline float gated(const Finish& op, int64_t row, int dimension, float value) {
    const int kv_head = static_cast<int>(row % op.heads) / (op.heads / op.kv_heads);
    const float scale = op.v_scale == nullptr ? 1.0f : op.v_scale[kv_head * kRowDim + dimension];
    return value * scale * sigmoid(op.q_gate[(2 * row + 1) * kRowDim + dimension]);
}

// A block to 32 values of a row [T][heads]: a thread takes four of them in one of 32 slices of the splits.
constexpr int kPart = 32;
constexpr int kSlices = 32;
constexpr int kThreads = kPart / 4 * kSlices;

__global__ void __launch_bounds__(kThreads) decode_finish_kernel(Finish op) {
    extern __shared__ float factors[];  // [splits]
    __shared__ __align__(16) float slices[kSlices][kPart];
    __shared__ float reduced[kWarp];
    const int64_t row = blockIdx.x;
    const int first = blockIdx.y * kPart;
    const float2* softmax = op.softmax + row * op.splits;
    float largest = -INFINITY;
    int mine = 0;  // splits up to the last of this thread's that has cells
    for (int s = threadIdx.x; s < op.splits; s += kThreads) {
        const float found = softmax[s].x;
        largest = fmaxf(largest, found);
        if (found != -INFINITY) mine = s + 1;
    }
    largest = block_max(largest, reduced);
    const int used = static_cast<int>(block_max(static_cast<float>(mine), reduced));
    float sum = 0;
    for (int s = threadIdx.x; s < used; s += kThreads) {
        const float2 share = softmax[s];
        factors[s] = factor_of(share.x, largest);
        sum = fmaf(share.y, factors[s], sum);
    }
    sum = block_sum(sum, reduced);

    const int quad = threadIdx.x % (kPart / 4);
    const int slice = threadIdx.x / (kPart / 4);
    const auto* sums = reinterpret_cast<const float4*>(op.sums + row * op.splits * kRowDim + first) + quad;
    float4 value = {};
#pragma unroll 8
    for (int s = slice; s < used; s += kSlices) {
        const float4 share = sums[s * (kRowDim / 4)];
        const float factor = factors[s];
        const bool there = factor != 0;  // else nothing may have been written
        value.x = fmaf(there ? share.x : 0.0f, factor, value.x);
        value.y = fmaf(there ? share.y : 0.0f, factor, value.y);
        value.z = fmaf(there ? share.z : 0.0f, factor, value.z);
        value.w = fmaf(there ? share.w : 0.0f, factor, value.w);
    }
    *reinterpret_cast<float4*>(&slices[slice][4 * quad]) = value;
    __syncthreads();
    if (threadIdx.x >= kPart) return;
    float total = 0;
#pragma unroll
    for (int s = 0; s < kSlices; ++s) total += slices[s][threadIdx.x];
    const int dimension = first + static_cast<int>(threadIdx.x);
    op.out[row * kRowDim + dimension] = gated(op, row, dimension, sum == 0 ? 0.0f : total / sum);
}

// A warp to a row.
constexpr int kRowsOfBlock = 4;

__global__ void __launch_bounds__(kRowsOfBlock* kWarp) prefill_finish_kernel(Finish op) {
    const int64_t row = int64_t{blockIdx.x} * kRowsOfBlock + threadIdx.x / kWarp;
    const int lane = threadIdx.x % kWarp;
    if (row >= int64_t{op.tokens} * op.heads) return;
    const float2* softmax = op.softmax + row * op.splits;
    float largest = -INFINITY;
    for (int s = 0; s < op.splits; ++s) largest = fmaxf(largest, softmax[s].x);
    float sum = 0;
    float x[8] = {};
    for (int s = 0; s < op.splits; ++s) {
        const float factor = factor_of(softmax[s].x, largest);
        sum = fmaf(softmax[s].y, factor, sum);
        const float* share = op.sums + (row * op.splits + s) * kRowDim + lane;
#pragma unroll
        for (int i = 0; i < 8; ++i) x[i] = fmaf(share[kWarp * i], factor, x[i]);
    }
    if (op.rotate) rotate_row(x);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const int dimension = lane + kWarp * i;
        op.out[row * kRowDim + dimension] = gated(op, row, dimension, sum == 0 ? 0.0f : x[i] / sum);
    }
}

}  // namespace

void finish_decode_attention(const Finish& op, cudaStream_t stream) {
    const dim3 grid(static_cast<unsigned>(op.tokens * op.heads), kRowDim / kPart);
    decode_finish_kernel<<<grid, kThreads, static_cast<size_t>(op.splits) * sizeof(float), stream>>>(op);
}

void finish_prefill_attention(const Finish& op, cudaStream_t stream) {
    const auto blocks = static_cast<unsigned>(ceil_div(op.tokens * op.heads, kRowsOfBlock));
    prefill_finish_kernel<<<blocks, kRowsOfBlock * kWarp, 0, stream>>>(op);
}

}  // namespace octavo::cuda
