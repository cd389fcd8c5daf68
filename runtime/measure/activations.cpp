#include "runtime/measure/activations.h"

#include <fmt/core.h>

#include <algorithm>

#include "kernels/forwarding_backend.h"

namespace octavo {
namespace {

// Does what the back end behind it does, and keeps the rows that pass through attention.
class RecordingBackend final : public ForwardingBackend {
  public:
    // `layers` has one entry a full-attention layer, sizes filled in; it outlives the back end.
    RecordingBackend(std::unique_ptr<Backend> backend, std::vector<KvActivations>& layers)
        : ForwardingBackend(std::move(backend)), layers_(&layers) {}

    void kv_basis(const KvRows& rows, float* q, int heads) override {
        record(rows, q, heads);
        ForwardingBackend::kv_basis(rows, q, heads);
    }

  private:
    // Every layer comes once a pass, in order.
    void record(const KvRows& rows, const float* q, int heads) {
        KvActivations& layer = (*layers_)[next_layer_];
        next_layer_ = (next_layer_ + 1) % layers_->size();
        const auto width = static_cast<size_t>(layer.kv_heads) * static_cast<size_t>(layer.head_dim);
        const size_t floats = static_cast<size_t>(rows.tokens) * width;
        append(layer.k, rows.k, floats);
        append(layer.v, rows.v, floats);
        const auto q_width = int64_t{heads} * layer.head_dim;
        const int64_t first_query = layer.cells - layer.queries;
        const int64_t skipped = std::clamp<int64_t>(first_query - rows.first_cell, 0, rows.tokens);
        append(layer.q, q + skipped * q_width, static_cast<size_t>((rows.tokens - skipped) * q_width));
    }
    void append(std::vector<float>& to, const float* from, size_t floats) {
        to.resize(to.size() + floats);
        memory().download(to.data() + to.size() - floats, from, floats * sizeof(float));
    }

    std::vector<KvActivations>* layers_;
    size_t next_layer_ = 0;
};

std::vector<KvActivations> empty_layers(const HybridConfig& config, int64_t cells, int64_t queries) {
    std::vector<KvActivations> layers;
    for (size_t i = 0; i < config.layer_kinds.size(); ++i) {
        if (config.layer_kinds[i] != LayerKind::full_attention) continue;
        layers.push_back({fmt::format("layer {}", i + 1),
                          config.heads,
                          config.kv_heads,
                          config.head_dim,
                          cells,
                          queries,
                          {},
                          {},
                          {}});
    }
    return layers;
}

}  // namespace

Result<std::vector<KvActivations>> record_activations(std::shared_ptr<const Model> model, const EngineOptions& options,
                                                      std::span<const int32_t> ids, int64_t queries, Job& job) {
    const auto cells = std::ssize(ids);
    if (cells == 0 || queries < 0 || queries > cells) {
        return Error{ErrorKind::usage,
                     fmt::format("{} tokens were to be read for {} queries; at least one token and no "
                                 "more queries than tokens are possible.",
                                 cells, queries)};
    }
    Result<std::unique_ptr<Backend>> backend = open_backend(options);
    if (!backend) return backend.error();
    std::vector<KvActivations> layers = empty_layers(model->config, cells, queries);
    Result<std::unique_ptr<Engine>> engine =
        Engine::create(std::move(model), options, std::make_unique<RecordingBackend>(std::move(*backend), layers));
    if (!engine) return engine.error();
    const Status status = (*engine)->call("activations", [&](Session& session) {
        return session.append(
            ids, 0, [](int64_t, int, const float*) {}, job);
    });
    if (!status) return status.error();
    return layers;
}

}  // namespace octavo
