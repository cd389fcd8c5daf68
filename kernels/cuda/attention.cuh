// What the kernels of attention share: the operation as they take it, and the partial results of a split sequence.
#pragma once

#include "kernels/cuda/attention_source.cuh"

namespace octavo::cuda {

inline constexpr float kLog2E = 1.44269504f;

// One pass's attention for rows of 256 values, split over the sequence. How many splits there are depends on the pass
// and the GPU only, and which tiles each takes on the position too, so the same calls add up the same parts in the same
// order.
struct SplitAttention {
    Cache cache;
    const f16_bits* fresh_k;  // [T][kv_heads][256] the pass's own cells; nullptr where nothing reads copies
    const f16_bits* fresh_v;
    const float* new_k;  // [kv_heads][256] instead, of a pass of one cell; nullptr for more
    const float* new_v;
    const int64_t* first_cell;
    const float* q;  // [T][heads][256]
    int tokens;
    int heads;
    int splits;
    float* sums;      // [T][heads][splits][256], of exp2(score - largest) v
    float2* softmax;  // [T][heads][splits]: largest score (in bits, -infinity: no cells), sum of weights
};

// Of one token, or of each of a few by itself: attention_decode.cu. Sums lie in the order of value_dimension for a
// format, which is returned, and are halfway out of the cache's basis: see decode_finish_kernel. `early`: see
// early_launch.cuh; then `first_cell` has been written before the pass.
int decode_splits(const SplitAttention& op, int multiprocessors);
KvFormat run_decode_attention(const SplitAttention& op, bool early, cudaStream_t stream);

// Of many tokens, which share what is read: attention_prefill.cu. Sums are in order, and in the cache's basis.
int prefill_splits(const SplitAttention& op, int multiprocessors);
void run_prefill_attention(const SplitAttention& op, cudaStream_t stream);

// Let their kernels take the shared memory that they need. Once, before anything else.
void prepare_decode_attention();
void prepare_prefill_attention();

__device__ inline float exp2_fast(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// The last step: shares are added up, come out of the cache's basis and are gated.
struct Finish {
    const float* sums;  // as in SplitAttention
    const float2* softmax;
    int splits;
    const float* q_gate;   // [T][heads][2 * 256]
    const float* v_scale;  // [kv_heads][256]; nullptr: ones
    float* out;            // [T][heads][256]
    int tokens;
    int heads;
    int kv_heads;
    bool rotate;
    KvFormat order;  // of a decode attention's sums
};
void finish_decode_attention(const Finish& op, bool early, cudaStream_t stream);  // of many splits
void finish_prefill_attention(const Finish& op, cudaStream_t stream);             // of a few

// In float32, value by value, for rows of up to 1024 values of any format: attention_float32.cu.
struct Float32Attention {
    Cache cache;
    const f16_bits* fresh_k;
    const f16_bits* fresh_v;
    const int64_t* first_cell;
    const float* q;
    const float* q_gate;
    const float* v_scale;
    float* out;
    int tokens;
    int heads;
    int group;  // of the transform of V; 1: none
};
void run_float32_attention(const Float32Attention& op, cudaStream_t stream);

// The Hadamard transform of what a thread has, in parts: bit by bit of the index of its own values, and of the lane.
template <int count>
__device__ inline void transform_own(float (&x)[count]) {
#pragma unroll
    for (int half = 1; half < count; half *= 2) {
#pragma unroll
        for (int i = 0; i < count; ++i) {
            if ((i & half) != 0) continue;
            const float a = x[i];
            const float b = x[i + half];
            x[i] = a + b;
            x[i + half] = a - b;
        }
    }
}
template <int count>
__device__ inline void transform_lanes(float (&x)[count]) {
    const int lane = threadIdx.x % kWarp;
#pragma unroll
    for (int half = 1; half < kWarp; half *= 2) {
#pragma unroll
        for (int i = 0; i < count; ++i) {
            const float other = __shfl_xor_sync(kAllLanes, x[i], half);
            x[i] = (lane & half) != 0 ? other - x[i] : x[i] + other;
        }
    }
}
inline constexpr float kTransformUnit = 1.0f / 16;  // sqrt(256)

}  // namespace octavo::cuda
