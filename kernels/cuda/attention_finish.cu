// The shares of a split sequence, added up in their order.
#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/attention_values.cuh"
#include "kernels/cuda/early_launch.cuh"

namespace octavo::cuda {
namespace {

__device__ inline float factor_of(float share, float largest) {
    return share == -INFINITY ? 0.0f : exp2_fast(share - largest);
}

__device__ inline float2 gate_of(const Finish& op, int64_t row, int dimension) {
    const int kv_head = static_cast<int>(row % op.heads) / (op.heads / op.kv_heads);
    const float scale = op.v_scale == nullptr ? 1.0f : op.v_scale[kv_head * kRowDim + dimension];
    return {scale, op.q_gate[(2 * row + 1) * kRowDim + dimension]};
}

__device__ inline float gated(float value, float2 gate) { return value * gate.x * sigmoid(gate.y); }

// A block to 32 values of a row [T][heads], those that one value of every thread in attention_decode_share.cuh became:
// their transform is one over lanes. A thread takes four of them in one of 32 slices of the splits. Every warp
// finds the factors of all splits, a lane's at a time: lane i has those of slice i.
constexpr int kPart = 32;
constexpr int kSlices = kWarp;
constexpr int kAhead = 9;  // splits of a slice that are read at once: 4 blocks of 2 KV heads on 144 multiprocessors
constexpr int kQuads = kPart / 4;
constexpr int kThreads = kQuads * kSlices;

__global__ void __launch_bounds__(kThreads, 4) decode_finish_kernel(Finish op) {
    __shared__ float parts[kThreads / kWarp][kPart];
    let_next_start();
    const int64_t row = blockIdx.x;
    const int first = blockIdx.y * kPart;
    const int lane = threadIdx.x % kWarp;
    const int quad = threadIdx.x % kQuads;
    const int slice = threadIdx.x / kQuads;
    const float2* softmax = op.softmax + row * op.splits;
    const auto* sums = reinterpret_cast<const float4*>(op.sums + row * op.splits * kRowDim + first) + quad;
    float largest = -INFINITY;
    float sum = 0;
    float4 value = {};
    await_previous();
    const int part = blockIdx.y;
    const int own = value_dimension(op.order, part / 2, lane % 8, part % 2) + lane / 8 * 64;
    const float2 gate = gate_of(op, row, own);  // on its way beside the sums
    for (int base = 0; base < op.splits; base += kAhead * kSlices) {
        float4 shares[kAhead];
        float2 of_lane[kAhead];
#pragma unroll
        for (int i = 0; i < kAhead; ++i) {
            const int split = base + i * kSlices + lane;
            of_lane[i] = split < op.splits ? softmax[split] : float2{-INFINITY, 0};
        }
#pragma unroll
        for (int i = 0; i < kAhead; ++i) {
            const int split = base + i * kSlices + slice;
            shares[i] = split < op.splits ? sums[split * (kRowDim / 4)] : float4{};
        }
        float found = largest;
#pragma unroll
        for (int i = 0; i < kAhead; ++i) found = fmaxf(found, of_lane[i].x);
        found = warp_max(found);
        const float before = factor_of(largest, found);
        largest = found;
        value = {value.x * before, value.y * before, value.z * before, value.w * before};
        sum *= before;
#pragma unroll
        for (int i = 0; i < kAhead; ++i) {
            const float mine = factor_of(of_lane[i].x, largest);
            sum = fmaf(of_lane[i].y, mine, sum);
            const float factor = __shfl_sync(kAllLanes, mine, slice);
            if (factor == 0) continue;  // nothing may have been written
            value.x = fmaf(shares[i].x, factor, value.x);
            value.y = fmaf(shares[i].y, factor, value.y);
            value.z = fmaf(shares[i].z, factor, value.z);
            value.w = fmaf(shares[i].w, factor, value.w);
        }
    }
    sum = warp_sum(sum);
#pragma unroll
    for (int offset = kQuads; offset < kWarp; offset *= 2) {  // the warp's slices
        value.x += __shfl_xor_sync(kAllLanes, value.x, offset);
        value.y += __shfl_xor_sync(kAllLanes, value.y, offset);
        value.z += __shfl_xor_sync(kAllLanes, value.z, offset);
        value.w += __shfl_xor_sync(kAllLanes, value.w, offset);
    }
    float* const quads = &parts[threadIdx.x / kWarp][4 * quad];
    if (lane < kQuads) quads[0] = value.x, quads[1] = value.y, quads[2] = value.z, quads[3] = value.w;
    __syncthreads();
    if (threadIdx.x >= kPart) return;
    float total[1] = {};
#pragma unroll
    for (int warp = 0; warp < kThreads / kWarp; ++warp) total[0] += parts[warp][lane];
    if (op.rotate) {
        transform_lanes(total);
        total[0] *= kTransformUnit;
    }
    op.out[row * kRowDim + own] = gated(sum == 0 ? 0.0f : total[0] / sum, gate);
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
    if (op.rotate) {
        transform_lanes(x);
        transform_own(x);
#pragma unroll
        for (float& value : x) value *= kTransformUnit;
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const int dimension = lane + kWarp * i;
        op.out[row * kRowDim + dimension] = gated(sum == 0 ? 0.0f : x[i] / sum, gate_of(op, row, dimension));
    }
}

}  // namespace

void finish_decode_attention(const Finish& op, bool early, cudaStream_t stream) {
    const dim3 grid(static_cast<unsigned>(op.tokens * op.heads), kRowDim / kPart);
    launch(decode_finish_kernel, grid, kThreads, 0, stream, early, op);
}

void finish_prefill_attention(const Finish& op, cudaStream_t stream) {
    const auto blocks = static_cast<unsigned>(ceil_div(op.tokens * op.heads, kRowsOfBlock));
    prefill_finish_kernel<<<blocks, kRowsOfBlock * kWarp, 0, stream>>>(op);
}

}  // namespace octavo::cuda
