#include "runtime/measure/traffic.h"

#include <optional>

namespace octavo {
namespace {

int64_t ffn_bytes(const FfnMatrices& ffn) { return ffn.gate.bytes() + ffn.up.bytes() + ffn.down.bytes(); }

int64_t projection_bytes(const OrderedProjection& projection) {
    int64_t bytes = 0;
    for (const Matrix& part : projection.parts) bytes += part.bytes();
    return bytes;
}

int64_t layer_bytes(const LayerWeights& layer, int experts_used) {
    int64_t bytes = layer.ffn.router.bytes() + layer.ffn.shared_gate.bytes();
    if (layer.attention) {
        const AttentionWeights& attention = *layer.attention;
        bytes += attention.q_gate.bytes() + attention.k.bytes() + attention.v.bytes() + attention.out.bytes();
    }
    if (layer.delta_net)
        bytes += projection_bytes(layer.delta_net->qkvz) + projection_bytes(layer.delta_net->ba) +
                 layer.delta_net->out.bytes();
    // Experts of a layer are all of one size.
    if (!layer.ffn.experts.empty()) bytes += experts_used * ffn_bytes(layer.ffn.experts.front());
    if (layer.ffn.shared) bytes += ffn_bytes(*layer.ffn.shared);
    return bytes;
}

}  // namespace

int64_t decode_weight_bytes(const Model& model) {
    int64_t bytes = model.weights.head.bytes() + model.weights.embedding.row_bytes();
    for (const LayerWeights& layer : model.weights.layers) bytes += layer_bytes(layer, model.config.experts_used);
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
