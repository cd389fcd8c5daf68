// The tensors of a hybrid model as a GGUF file holds them: names, shapes, what their values are like and what they are
// for. GGUF order of rows does not matter for random values.
//
// Threads: pure function. Source: model_spec section 9.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/hybrid/config_reader.h"

namespace octavo {

enum class ValueKind {
    product,     // of a matrix: mean 0, standard deviation 1 / sqrt(columns)
    embedding,   // mean 0, standard deviation 1
    norm,        // near 1
    decay,       // -exp(A_log): negative, from slow to fast
    decay_bias,  // dt: softplus of it times the decay above gives what a step forgets
};

// What type mixes distinguish.
enum class TensorRole { small, matrix, embedding, head, delta_net_qkv, attention_v, expert_down };

struct ListedTensor {
    std::string name;
    std::vector<int64_t> shape;  // outermost first
    ValueKind values = ValueKind::product;
    TensorRole role = TensorRole::matrix;
    int layer = -1;  // -1: outside of the layers
};

std::vector<ListedTensor> list_tensors(const HybridDescription& description);

}  // namespace octavo
