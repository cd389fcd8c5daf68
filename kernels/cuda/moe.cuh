// What the kernels of the feed-forward part share.
#pragma once

#include <span>

#include "kernels/backend.h"
#include "kernels/cuda/few_tokens.cuh"

namespace octavo::cuda {

enum FfnPart { kGate, kUp, kDown };

// Feed-forward blocks at equal distances: of a layer's, `count` from number `first` on.
struct Blocks {
    DeviceMatrix parts[3];  // of number `first`
    int first;
    int count;
    int64_t distance;     // bytes from one block to the next
    const float* scales;  // [count][3]; nullptr: those of number `first`

    const float* scales_of(FfnPart part) const { return scales == nullptr ? nullptr : scales + part; }
    __device__ bool has(int block) const { return block >= first && block < first + count; }
    // Of a block that is among them.
    __device__ DeviceMatrix matrix(FfnPart part, int block) const {
        return parts[part].of_group(block - first, distance, scales == nullptr ? nullptr : scales + part);
    }
};
// scales: of all blocks from number 0 on, or nullptr.
inline Blocks blocks_of(std::span<const FfnMatrices> blocks, int first, int count, const float* scales) {
    const FfnMatrices* const block = &blocks[static_cast<size_t>(first)];
    const int64_t distance = count > 1 ? block[1].gate.data - block->gate.data : 0;
    return {{device_matrix(block->gate), device_matrix(block->up), device_matrix(block->down)},
            first,
            count,
            distance,
            scales == nullptr ? nullptr : scales + first * kScaleStride};
}

struct Choices {
    int32_t* expert;  // [T][top_k], best first
    float* weight;    // [T][top_k]
};

// The products of a few tokens (moe_few.cu).
struct FewTokensMoe {
    Blocks experts, shared;
    Choices choices;
    int top_k;  // 0: no experts
    bool has_shared;
    int tokens;
    int hidden;
    const float* x;            // [T][hidden]
    const float* shared_gate;  // may be nullptr
    float* inner;              // [T][top_k + 1][inner_width()]
    float* y;                  // [T][hidden], added to

    __host__ __device__ int slots() const { return top_k + (has_shared ? 1 : 0); }
    __host__ __device__ int64_t inner_width() const {  // of the wider of both blocks
        const int64_t expert_width = top_k > 0 ? experts.parts[kGate].rows : 0;
        const int64_t shared_width = has_shared ? shared.parts[kGate].rows : 0;
        return expert_width > shared_width ? expert_width : shared_width;
    }
};
void run_few_tokens(const FewTokensMoe& op, const FewTokensWays& ways, cudaStream_t stream);

}  // namespace octavo::cuda
