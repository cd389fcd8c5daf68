// Attention: on the tensor cores (attention_tensor.cu) for rows of 256 values in 16 bits or fewer, else value by value
// in float32, here. Both give the normed sum of values in the cache's basis; the last step turns it back and gates it.
#include <algorithm>

#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/kv_decode.cuh"
#include "kernels/kv_hadamard.h"

namespace octavo::cuda {
namespace {

constexpr int kThreads = 256;

// ---- FP16 copies of the pass's own cells ----

__global__ void fresh_kernel(const float* k, const float* v, int64_t count, f16_bits* fresh) {
    const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i >= count) return;
    fresh[i] = to_f16(k[i]);
    fresh[count + i] = to_f16(v[i]);
}

// ---- the last step ----

struct Finish {
    const float* q_gate;  // [T][heads][2 * head_dim]
    const float* v_scale;
    float* out;
    int heads;
    int kv_heads;
    int dim;
    int group;  // of the transform of V; 1: none
};

// row[dim] in shared memory, all written: out of the cache's basis, then the gate.
__device__ void finish_row(const Finish& op, float* row, int64_t token, int head) {
    for (int half = 1; half < op.group; half *= 2) {
        for (int pair = threadIdx.x; pair < op.dim / 2; pair += blockDim.x) {
            const int i = pair / half * 2 * half + pair % half;
            const float a = row[i];
            const float b = row[i + half];
            row[i] = a + b;
            row[i + half] = a - b;
        }
        __syncthreads();
    }
    const float factor = 1.0f / sqrtf(static_cast<float>(op.group));
    const float* gate = op.q_gate + (token * op.heads + head) * 2 * op.dim + op.dim;
    float* out = op.out + (token * op.heads + head) * op.dim;
    const int kv_head = head / (op.heads / op.kv_heads);
    for (int i = threadIdx.x; i < op.dim; i += blockDim.x) {
        const float scale = op.v_scale == nullptr ? 1.0f : op.v_scale[kv_head * op.dim + i];
        out[i] = (op.group > 1 ? row[i] * factor : row[i]) * scale * sigmoid(gate[i]);
    }
}

// ---- float32 ----

struct Float32Attention {
    Cache cache;
    const f16_bits* fresh_k;
    const f16_bits* fresh_v;
    const int64_t* first_cell;
    const float* q;
    Finish finish;
};

constexpr int kCellsAtOnce = 64;
constexpr int kMaxDimsPerThread = 4;

// A block to a head of a token.
__global__ void __launch_bounds__(kThreads) float32_kernel(Float32Attention op) {
    extern __shared__ float row[];  // [dim]
    __shared__ float weights[kCellsAtOnce];
    const int head = blockIdx.x;
    const int64_t token = blockIdx.y;
    const int dim = op.cache.head_dim;
    const int kv_head = head / (op.finish.heads / op.cache.kv_heads);
    const int64_t first_cell = *op.first_cell;
    const int64_t position = first_cell + token;
    const float* q = op.q + (token * op.finish.heads + head) * dim;
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
    finish_row(op.finish, row, token, head);
}

// ---- shares of a split sequence ----

struct Combine {
    const float* sums;
    const float2* softmax;
    int splits;
    Finish finish;
};

// A block to a head of a token. A thread takes four dimensions in one of 16 slices of the splits.
__global__ void __launch_bounds__(1024) combine_kernel(Combine op) {
    constexpr int kDim = 256;
    constexpr int kQuads = kDim / 4;
    constexpr int kSlices = 1024 / kQuads;
    extern __shared__ float factors[];  // [splits]
    __shared__ __align__(16) float slices[kSlices][kDim];
    __shared__ float row[kDim];
    __shared__ float reduced[kWarp];
    const int head = blockIdx.x;
    const int64_t token = blockIdx.y;
    const int64_t first = (token * op.finish.heads + head) * op.splits;

    // The sums are fetched before it is known how much each counts.
    constexpr int kHeld = 9;
    const int quad = threadIdx.x % kQuads;
    const int slice = threadIdx.x / kQuads;
    const auto* sums = reinterpret_cast<const float4*>(op.sums) + first * kQuads + quad;
    float4 held[kHeld];
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
        const int s = slice + i * kSlices;
        held[i] = s < op.splits ? sums[s * kQuads] : float4{};
    }
    float largest = -INFINITY;
    for (int s = threadIdx.x; s < op.splits; s += blockDim.x) largest = fmaxf(largest, op.softmax[first + s].x);
    largest = block_max(largest, reduced);
    float sum = 0;
    for (int s = threadIdx.x; s < op.splits; s += blockDim.x) {
        const float2 share = op.softmax[first + s];
        factors[s] = share.x == -INFINITY ? 0.0f : exp2f(share.x - largest);
        sum = fmaf(share.y, factors[s], sum);
    }
    sum = block_sum(sum, reduced);

    float4 value = {};
    const auto add = [&](const float4& share, float factor) {
        value.x = fmaf(share.x, factor, value.x);
        value.y = fmaf(share.y, factor, value.y);
        value.z = fmaf(share.z, factor, value.z);
        value.w = fmaf(share.w, factor, value.w);
    };
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
        const int s = slice + i * kSlices;
        if (s < op.splits) add(held[i], factors[s]);
    }
    for (int s = slice + kHeld * kSlices; s < op.splits; s += kSlices) add(sums[s * kQuads], factors[s]);
    *reinterpret_cast<float4*>(&slices[slice][4 * quad]) = value;
    __syncthreads();
    for (int i = threadIdx.x; i < kDim; i += blockDim.x) {
        float total = 0;
#pragma unroll
        for (int s = 0; s < kSlices; ++s) total += slices[s][i];
        row[i] = sum == 0 ? 0.0f : total / sum;
    }
    __syncthreads();
    finish_row(op.finish, row, token, head);
}

}  // namespace

void CudaBackend::attention(const Attention& op) {
    const Cache cache = device_cache(op.cache);
    const int dim = op.cache.head_dim;
    const int64_t fresh_values = int64_t{op.tokens} * op.cache.kv_heads * dim;
    const bool needs_fresh = !cache.k.raw || !cache.v.raw;
    const auto has_16_bits = [&](const Side& side) {
        return side.format != KvFormat::f32 && (side.format != KvFormat::bf16 || compute_capability_ >= 80);
    };
    const bool tensor = !float32_ && dim == 256 && has_16_bits(cache.k) && has_16_bits(cache.v);
    if (dim > kThreads * kMaxDimsPerThread) {
        refused_ = Error{ErrorKind::device, "Heads of more than 1024 values do not run on the GPU; use --device cpu."};
        return;
    }

    SplitAttention split = {};
    split.cache = cache;
    split.heads = op.heads;
    if (tensor) {
        const int groups = ceil_div(op.heads / op.cache.kv_heads, 8);
        const int at_once = tensor_attention_blocks(split) * multiprocessors_;
        split.splits = std::max(1, at_once / (op.cache.kv_heads * groups * op.tokens));
        if (needs_fresh && split.splits > 4 * kSpecialSplits) split.special_splits = special_splits(split);
    }
    const int64_t shares = tensor ? int64_t{op.tokens} * op.heads * split.splits : 0;
    const auto padded = [](int64_t bytes) { return (bytes + 255) / 256 * 256; };
    const int64_t fresh_bytes = padded(needs_fresh ? 2 * fresh_values * static_cast<int64_t>(sizeof(f16_bits)) : 0);
    const int64_t softmax_bytes = padded(shares * static_cast<int64_t>(sizeof(float2)));
    const int64_t sum_bytes = shares * dim * static_cast<int64_t>(sizeof(float));
    std::byte* const base = scratch(std::max<int64_t>(256, fresh_bytes + softmax_bytes + sum_bytes));
    if (base == nullptr) return;

    auto* const fresh = reinterpret_cast<f16_bits*>(base);
    const bool one_token = tensor && op.tokens == 1;  // its copies are made on the way
    if (needs_fresh && !one_token) {
        const auto blocks = static_cast<unsigned>(ceil_div<int64_t>(fresh_values, kThreads));
        fresh_kernel<<<blocks, kThreads, 0, stream_>>>(op.k_new, op.v_new, fresh_values, fresh);
        launched();
    }
    const Finish finish{op.q_gate,
                        op.cache.v_scale,
                        op.out,
                        op.heads,
                        op.cache.kv_heads,
                        dim,
                        op.cache.v.rotate ? hadamard_group(dim) : 1};
    const dim3 heads(static_cast<unsigned>(op.heads), static_cast<unsigned>(op.tokens));
    const int64_t* const first_cell = position(op.first_cell);
    if (!tensor) {
        const Float32Attention exact{cache, fresh, fresh + fresh_values, first_cell, op.q, finish};
        float32_kernel<<<heads, kThreads, static_cast<size_t>(dim) * sizeof(float), stream_>>>(exact);
        launched();
        return;
    }
    if (one_token) {
        split.new_k = op.k_new;
        split.new_v = op.v_new;
    }
    split.fresh_k = fresh;
    split.fresh_v = fresh + fresh_values;
    split.first_cell = first_cell;
    split.q = op.q;
    split.softmax = reinterpret_cast<float2*>(base + fresh_bytes);
    split.sums = reinterpret_cast<float*>(base + fresh_bytes + softmax_bytes);
    run_tensor_attention(split, op.tokens, stream_);
    launched();
    const size_t factor_bytes = static_cast<size_t>(split.splits) * sizeof(float);
    combine_kernel<<<heads, 1024, factor_bytes, stream_>>>({split.sums, split.softmax, split.splits, finish});
    launched();
}

}  // namespace octavo::cuda
