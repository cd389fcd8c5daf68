#include "runtime/measure/traffic.h"

#include <optional>

namespace octavo {
namespace {

int64_t matrix_bytes(const Matrix& w) { return w.bytes() + w.scale_bytes(); }

int64_t ffn_bytes(const FfnMatrices& ffn) {
    return matrix_bytes(ffn.gate) + matrix_bytes(ffn.up) + matrix_bytes(ffn.down);
}

int64_t projection_bytes(const OrderedProjection& projection) {
    int64_t bytes = 0;
    for (const Matrix& part : projection.parts) bytes += matrix_bytes(part);
    return bytes;
}

// Experts of a layer are all of one size.
int64_t expert_bytes(const LayerWeights& layer, int experts_used) {
    return layer.ffn.experts.empty() ? 0 : experts_used * ffn_bytes(layer.ffn.experts.front());
}

int64_t layer_bytes(const LayerWeights& layer, int experts_used) {
    int64_t bytes = matrix_bytes(layer.ffn.router) + matrix_bytes(layer.ffn.shared_gate);
    if (layer.attention) {
        const AttentionWeights& attention = *layer.attention;
        for (const Matrix* w : {&attention.q_gate, &attention.k, &attention.v, &attention.out})
            bytes += matrix_bytes(*w);
    }
    if (layer.delta_net)
        bytes += projection_bytes(layer.delta_net->qkvz) + projection_bytes(layer.delta_net->ba) +
                 matrix_bytes(layer.delta_net->out);
    bytes += expert_bytes(layer, experts_used);
    if (layer.ffn.shared) bytes += ffn_bytes(*layer.ffn.shared);
    return bytes;
}

}  // namespace

int64_t decode_weight_bytes(const Model& model) {
    int64_t bytes = model.weights.head.bytes() + model.weights.embedding.row_bytes();
    for (const LayerWeights& layer : model.weights.layers) bytes += layer_bytes(layer, model.config.experts_used);
    return bytes;
}

int64_t decode_expert_bytes(const Model& model) {
    int64_t bytes = 0;
    for (const LayerWeights& layer : model.weights.layers) bytes += expert_bytes(layer, model.config.experts_used);
    return bytes;
}

int64_t decode_bytes(const Model& model, int64_t kv_bytes_per_token, int64_t depth) {
    const HybridConfig& config = model.config;
    const int64_t state_floats =
        static_cast<int64_t>(config.gdn_layers()) * (config.gdn_state_floats() + config.conv_state_floats());
    return decode_weight_bytes(model) + depth * kv_bytes_per_token +
           2 * state_floats * static_cast<int64_t>(sizeof(float));
}

}  // namespace octavo
