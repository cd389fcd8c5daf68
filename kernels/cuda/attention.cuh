// What the kernels of attention share: the operation as they take it, and the partial results of a split sequence.
#pragma once

#include "kernels/cuda/kv_layout.cuh"

namespace octavo::cuda {

inline constexpr int kSpecialSplits = 2;

// One pass's attention, split over the sequence: each split takes a share of the tiles of cells, a whole number of them
// for each warp of a block. Tiles with FP16 copies take longer: where there are many splits the first few, which start
// first, take only those, and the others share what is read from the bulk throughout. How many splits there are depends
// on the pass and the GPU only, so the same calls add up the same parts in the same order.
struct SplitAttention {
    Cache cache;
    const f16_bits* fresh_k;  // [T][kv_heads][head_dim] the pass's own cells; nullptr where nothing reads copies
    const f16_bits* fresh_v;
    const float* new_k;  // [kv_heads][head_dim] instead, of a pass of one cell; nullptr for more
    const float* new_v;
    const int64_t* first_cell;
    const float* q;  // [T][heads][head_dim]
    int heads;
    int splits;
    int special_splits;  // 0: every split takes tiles as they come
    float* sums;         // [T][heads][splits][head_dim], of exp2(score - largest) v
    float2* softmax;     // [T][heads][splits]: largest score (in bits, -infinity: no cells), sum of weights
};

// Runs the kernel of the formats; rows of 256 values. `blocks` [splits][kv_heads * column groups][T].
void run_tensor_attention(const SplitAttention& op, int tokens, cudaStream_t stream);
// kSpecialSplits where that kernel reads the bulk apart from the copies, else 0.
int special_splits(const SplitAttention& op);
// Blocks of it that a multiprocessor holds at once.
int tensor_attention_blocks(const SplitAttention& op);

}  // namespace octavo::cuda
