// Copies of memory into shared memory behind the caller's back, and 8 x 8 matrices of 16-bit numbers from there to
// registers.
#pragma once

#include "kernels/cuda/device.cuh"

namespace octavo::cuda {

__device__ inline uint32_t shared_address(const void* pointer) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// 16 bytes, under way until `wait_copies`. GPUs before 8.0 copy at once.
__device__ inline void copy_16(void* to_shared, const void* from) {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to_shared)), "l"(from));
#else
    *static_cast<uint4*>(to_shared) = __ldg(static_cast<const uint4*>(from));
#endif
}
// The same, or 16 zero bytes.
__device__ inline void copy_16_or_zero(void* to_shared, const void* from, bool there) {
#if __CUDA_ARCH__ >= 800
    const int bytes = there ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to_shared)), "l"(from),
                 "r"(bytes));
#else
    *static_cast<uint4*>(to_shared) = there ? __ldg(static_cast<const uint4*>(from)) : uint4{};
#endif
}
// Ends a group of copies of this thread.
__device__ inline void end_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;");
#endif
}
// Waits for this thread's groups but the newest `but`.
template <int but>
__device__ inline void wait_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(but) : "memory");
#endif
}

// Rows of `chunks` times 16 bytes (a power of two, at least 4) that follow each other from a multiple of 128 bytes on:
// how far from there chunk `chunk` of row `row` lies. Eight rows that follow each other have any chunk of theirs in
// eight different groups of banks, without gaps between rows: those would make copies of 128 bytes cross 128-byte lines
// of shared memory, and half again as many sectors come from the L2 cache then (see GPU.md).
template <int chunks>
__device__ inline constexpr int swizzled(int row, int chunk) {
    constexpr int kRowsOfLine = chunks < 8 ? 8 / chunks : 1;
    return ((row * chunks + chunk) ^ (row / kRowsOfLine % 8)) * 16;
}
// Of a row the address of chunk c + `chunk` in shared memory, from that of chunk c, where c and `chunk` have no bit in
// common.
struct SwizzledRow {
    uint32_t address;
    __device__ uint32_t operator()(int chunk) const { return (address ^ (chunk % 8 * 16)) + chunk / 8 * 128; }
};
struct PaddedRow {
    uint32_t address;
    __device__ uint32_t operator()(int chunk) const { return address + chunk * 16; }
};

// Four matrices; lane l gives the address of row l % 8 of matrix l / 8. Lane (g = l / 4, t = l % 4) gets, of each, the
// numbers 2t and 2t + 1 of row g; `transposed`: number g of the rows 2t and 2t + 1.
template <bool transposed>
__device__ inline void load_matrices(uint32_t row, uint32_t (&to)[4]) {
    if constexpr (transposed) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(row)
                     : "memory");
    } else {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(row)
                     : "memory");
    }
}
template <bool transposed>
__device__ inline void load_matrices(const void* row, uint32_t (&to)[4]) {
    load_matrices<transposed>(shared_address(row), to);
}

}  // namespace octavo::cuda
