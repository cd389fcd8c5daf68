// The weights of a hybrid model as views: of the file, or of a copy in a device's memory (placed_weights.h). Norm
// weights are plain factors here (a file's zero-centred "+1" is already added by the reader). Small vectors are float32
// whatever the file holds.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/matrix.h"

namespace octavo {

struct AttentionWeights {
    Matrix q_gate;                  // [heads * 2 * head_dim][hidden]: per head, query rows then gate rows
    Matrix k;                       // [kv_heads * head_dim][hidden]
    Matrix v;                       // [kv_heads * head_dim][hidden]
    Matrix out;                     // [hidden][heads * head_dim]
    const float* q_norm = nullptr;  // [heads][head_dim]
    const float* k_norm = nullptr;  // [kv_heads][head_dim]
    // [kv_heads][head_dim] what V is divided by in the cache and attention's output multiplied by; nullptr: all ones
    const float* v_scale = nullptr;
};

// A projection whose rows may have to be brought into head order after the product.
struct OrderedProjection {
    std::vector<Matrix> parts;        // outputs of the parts follow each other
    std::span<const int32_t> source;  // wanted column i is column source[i] of the parts' output; empty: in order
};

struct DeltaNetWeights {
    OrderedProjection qkvz;          // q | k | v | z: [conv_channels + value_heads * value_dim][hidden]
    OrderedProjection ba;            // b | a: [2 * value_heads][hidden]
    Matrix out;                      // [hidden][value_heads * value_dim]
    const float* conv = nullptr;     // [conv_channels][conv_kernel]
    const float* a_scale = nullptr;  // [value_heads]: -exp(A_log)
    const float* dt_bias = nullptr;  // [value_heads]
    const int32_t* key_head_of_value_head = nullptr;  // [value_heads]
    const float* norm = nullptr;                      // [value_dim]
};

struct FeedForwardWeights {
    Matrix router;                     // [experts][hidden]; rows 0 when dense
    std::vector<FfnMatrices> experts;  // [experts]
    // [experts][3] Matrix::scale of their gate, up and down, where kernels of a device find it; nullptr: all 1
    const float* expert_scales = nullptr;
    // [experts] those that a device leaves in ordinary memory; absent above, as the others are here. Empty: none.
    std::vector<FfnMatrices> host_experts;
    std::optional<FfnMatrices> shared;
    Matrix shared_gate;  // [1][hidden]; rows 0: the shared block is not gated
};

struct LayerWeights {
    const float* mixer_norm = nullptr;          // [hidden], before attention or Gated DeltaNet
    const float* ffn_norm = nullptr;            // [hidden], before the feed-forward part
    std::optional<AttentionWeights> attention;  // exactly one of the two
    std::optional<DeltaNetWeights> delta_net;
    FeedForwardWeights ffn;
};

// A draft (MTP) block, which guesses the token after the next from the trunk's output and the next token:
// layer(join . (RMS(embedding of the next token) | RMS(output of the trunk after its final norm))), normed, gives what
// the head reads. Source: model_spec section 8.
struct DraftWeights {
    Matrix join;                            // [hidden][2 * hidden]: columns of the embedding, then of the trunk
    const float* embedding_norm = nullptr;  // [hidden]
    const float* trunk_norm = nullptr;      // [hidden]
    LayerWeights layer;                     // with full attention and a KV cache of its own
    const float* final_norm = nullptr;      // [hidden]
    Matrix embedding;                       // [vocab][hidden]: the trunk's, unless the block has its own
    Matrix head;                            // [vocab][hidden]: as above
};

struct HybridWeights {
    Matrix embedding;                   // [vocab][hidden]
    Matrix head;                        // [vocab][hidden]; the embedding where the file ties them
    const float* final_norm = nullptr;  // [hidden]
    std::vector<LayerWeights> layers;
    uint64_t placement = 0;  // another number whenever arrays have moved, which recorded passes must not miss
};

}  // namespace octavo
