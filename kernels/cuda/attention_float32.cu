// Attention in float32, value by value as the codecs decode it: the exact form, and the one of formats and rows that
// the tensor cores do not take. A block to a head of a token.
#include "kernels/cuda/attention.cuh"

namespace octavo::cuda {
namespace {

constexpr int kThreads = 256;
// row[dim] in shared memory, all written: out of the cache's basis, then the gate.
__device__ void finish_row(const Float32Attention& op, float* row, int64_t token, int head) {
    for (int half = 1; half < op.group; half *= 2) {
        for (int pair = threadIdx.x; pair < op.cache.head_dim / 2; pair += blockDim.x) {
            const int i = pair / half * 2 * half + pair % half;
            const float a = row[i];
            const float b = row[i + half];
            row[i] = a + b;
            row[i + half] = a - b;
        }
        __syncthreads();
    }
    const float factor = 1.0f / sqrtf(static_cast<float>(op.group));
    const float* gate = op.q_gate + (token * op.heads + head) * 2 * op.cache.head_dim + op.cache.head_dim;
    float* out = op.out + (token * op.heads + head) * op.cache.head_dim;
    const int kv_head = head / (op.heads / op.cache.kv_heads);
    for (int i = threadIdx.x; i < op.cache.head_dim; i += blockDim.x) {
        const float scale = op.v_scale == nullptr ? 1.0f : op.v_scale[kv_head * op.cache.head_dim + i];
        out[i] = (op.group > 1 ? row[i] * factor : row[i]) * scale * sigmoid(gate[i]);
    }
}

constexpr int kCellsAtOnce = 64;
constexpr int kMaxDimsPerThread = 4;

__global__ void __launch_bounds__(kThreads) float32_kernel(Float32Attention op) {
    extern __shared__ float row[];  // [dim]
    __shared__ float weights[kCellsAtOnce];
    const int head = blockIdx.x;
    const int64_t token = blockIdx.y;
    const int dim = op.cache.head_dim;
    const int kv_head = head / (op.heads / op.cache.kv_heads);
    const int64_t first_cell = *op.first_cell;
    const int64_t position = first_cell + token;
    const float* q = op.q + (token * op.heads + head) * dim;
    const float scale = 1.0f / sqrtf(static_cast<float>(dim));
    const int lane = threadIdx.x % kWarp;

    float largest = -INFINITY;
    float sum = 0;
    float o[kMaxDimsPerThread] = {};
    for (int64_t first = 0; first <= position; first += kCellsAtOnce) {
        const int count = static_cast<int>(min(int64_t{kCellsAtOnce}, position + 1 - first));
        for (int c = threadIdx.x / kWarp; c < kCellsAtOnce; c += kThreads / kWarp) {
            const int64_t cell = first + c;
            const bool masked = cell >= op.cache.masked_first && cell < op.cache.masked_first + op.cache.masked_cells;
            float score = 0;
            if (c < count && !masked) {
                for (int i = lane; i < dim; i += kWarp) {
                    score = fmaf(q[i],
                                 cached_value(op.cache, op.cache.k, op.fresh_k, first_cell, position, cell, kv_head, i),
                                 score);
                }
            }
            score = warp_sum(score) * scale;
            if (lane == 0) weights[c] = c < count && !masked ? score : -INFINITY;
        }
        __syncthreads();
        float most = largest;
        for (int c = 0; c < count; ++c) most = fmaxf(most, weights[c]);
        if (most != -INFINITY) {
            const float factor = expf(largest - most);
            sum *= factor;
#pragma unroll
            for (int j = 0; j < kMaxDimsPerThread; ++j) o[j] *= factor;
            for (int c = 0; c < count; ++c) {
                const float weight = expf(weights[c] - most);
                sum += weight;
                if (weight == 0) continue;
#pragma unroll
                for (int j = 0; j < kMaxDimsPerThread; ++j) {
                    const int i = threadIdx.x + j * kThreads;
                    if (i >= dim) continue;
                    const float value =
                        cached_value(op.cache, op.cache.v, op.fresh_v, first_cell, position, first + c, kv_head, i);
                    o[j] = fmaf(weight, value, o[j]);
                }
            }
            largest = most;
        }
        __syncthreads();
    }
#pragma unroll
    for (int j = 0; j < kMaxDimsPerThread; ++j) {
        const int i = threadIdx.x + j * kThreads;
        if (i < dim) row[i] = sum == 0 ? 0.0f : o[j] / sum;
    }
    __syncthreads();
    finish_row(op, row, token, head);
}

}  // namespace

void run_float32_attention(const Float32Attention& op, cudaStream_t stream) {
    const dim3 grid(static_cast<unsigned>(op.heads), static_cast<unsigned>(op.tokens));
    float32_kernel<<<grid, kThreads, static_cast<size_t>(op.cache.head_dim) * sizeof(float), stream>>>(op);
}

}  // namespace octavo::cuda
