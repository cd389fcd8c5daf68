// The feed-forward part of a few tokens: what its kernels share. A slot is a choice of a token; the shared block is one
// more, its last.
#pragma once

#include "kernels/cuda/moe.cuh"

namespace octavo::cuda {

__device__ inline bool is_shared(const FewTokensMoe& op, int slot) { return slot == op.top_k; }

// Whether this slot's block is one of those that are computed now.
__device__ inline bool is_here(const FewTokensMoe& op, int64_t token, int slot) {
    return is_shared(op, slot) || op.experts.has(op.choices.expert[token * op.top_k + slot]);
}

__device__ inline DeviceMatrix matrix_of(const FewTokensMoe& op, FfnPart part, int64_t token, int slot) {
    if (is_shared(op, slot)) return op.shared.parts[part];
    return op.experts.matrix(part, op.choices.expert[token * op.top_k + slot]);
}

__device__ inline float* inner_row(const FewTokensMoe& op, int64_t token, int slot) {
    return op.inner + (token * (op.top_k + 1) + slot) * op.inner_width();
}

__device__ inline float weight_of(const FewTokensMoe& op, int64_t token, int slot) {
    if (!is_shared(op, slot)) return op.choices.weight[token * op.top_k + slot];
    return op.shared_gate != nullptr ? sigmoid(op.shared_gate[token]) : 1.0f;
}

// moe_int8.cu; whether all matrices of the blocks are read by int8_rows, and what then computes them.
bool int8_reads(const Blocks& blocks);
void run_int8_experts(const FewTokensMoe& op, const FewTokensWays& ways, cudaStream_t stream);

}  // namespace octavo::cuda
