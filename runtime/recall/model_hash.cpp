#include "runtime/recall/model_hash.h"

#include <algorithm>

#include "kernels/base/fnv_hash.h"

namespace octavo {
namespace {

// A few rows, spread over the matrix.
void add_sample(FnvHash& hash, const Matrix& matrix) {
    constexpr int64_t sampled_rows = 8;
    hash.number(matrix.rows);
    hash.number(matrix.cols);
    const int64_t step = std::max<int64_t>(1, matrix.rows / sampled_rows);
    for (int64_t row = 0; row < matrix.rows; row += step)
        hash.bytes({matrix.row(row), static_cast<size_t>(matrix.row_bytes())});
}

}  // namespace

uint64_t model_hash(const Model& model) {
    FnvHash hash;
    hash.number(model.weight_bytes);
    hash.number(model.parameters);
    add_sample(hash, model.weights.embedding);
    add_sample(hash, model.weights.head);
    for (const LayerWeights& layer : model.weights.layers) {
        if (layer.attention) {
            for (const Matrix* matrix : {&layer.attention->q_gate, &layer.attention->k, &layer.attention->v})
                add_sample(hash, *matrix);
        } else if (layer.delta_net) {
            for (const Matrix& part : layer.delta_net->qkvz.parts) add_sample(hash, part);
        }
        if (!layer.ffn.experts.empty()) add_sample(hash, layer.ffn.experts.front().down);
    }
    return hash.value();
}

}  // namespace octavo
