// What the kernels of this folder share: sums over a warp or a block in a fixed order, and the exponentials of the
// design's formulas.
//
// Everything here is float32, and no sum uses atomics: the same inputs give the same bits.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace octavo::cuda {

inline constexpr int kWarp = 32;
inline constexpr unsigned kAllLanes = 0xffffffffu;

template <class T>
constexpr T ceil_div(T value, T by) {
    return (value + by - 1) / by;
}

__device__ inline float warp_sum(float value) {
#pragma unroll
    for (int offset = kWarp / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(kAllLanes, value, offset);
    return value;
}

__device__ inline float warp_max(float value) {
#pragma unroll
    for (int offset = kWarp / 2; offset > 0; offset /= 2) {
        value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, offset));
    }
    return value;
}

// The same for all threads of a block of whole warps; `shared` [32] may be used again afterwards.
__device__ inline float block_sum(float value, float* shared) {
    const int lane = threadIdx.x % kWarp;
    const int warp = threadIdx.x / kWarp;
    value = warp_sum(value);
    if (lane == 0) shared[warp] = value;
    __syncthreads();
    const int warps = blockDim.x / kWarp;
    value = warp_sum(lane < warps ? shared[lane] : 0.0f);
    __syncthreads();
    return value;
}

__device__ inline float block_max(float value, float* shared) {
    const int lane = threadIdx.x % kWarp;
    value = warp_max(value);
    if (lane == 0) shared[threadIdx.x / kWarp] = value;
    __syncthreads();
    value = warp_max(lane < static_cast<int>(blockDim.x) / kWarp ? shared[lane] : -INFINITY);
    __syncthreads();
    return value;
}

// Of the bytes of (a, b) those that four nibbles name; with the upper bit of a nibble a byte of its byte's sign.
// __byte_perm would mask the nibbles first.
__device__ inline uint32_t permute(uint32_t a, uint32_t b, uint32_t nibbles) {
    uint32_t bytes;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(bytes) : "r"(a), "r"(b), "r"(nibbles));
    return bytes;
}

__device__ inline float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }
__device__ inline float silu(float x) { return x / (1.0f + expf(-x)); }
// log(1 + e^x), written so that neither end overflows or loses digits.
__device__ inline float softplus(float x) { return x > 0 ? x + log1pf(expf(-x)) : log1pf(expf(x)); }

}  // namespace octavo::cuda
