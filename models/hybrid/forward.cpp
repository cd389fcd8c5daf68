#include "models/hybrid/forward.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <optional>

#include <fmt/format.h>

namespace octavo {

// Views into the one workspace buffer. The mixer's and the feed-forward's buffers are never alive together, so they
// share the same bytes.
struct Forward::Workspace {
    float* x;      // [T][hidden] residual stream
    float* h;      // [T][hidden] normed input of a block
    float* cos;    // [T][rope_dims / 2]
    float* sin;    // [T][rope_dims / 2]
    float* fused;  // [T][widest fused projection], before it is brought into head order

    // full attention
    float* q_gate;  // [T][heads][2 * head_dim]
    float* q;       // [T][heads][head_dim]
    float* k;       // [T][kv_heads][head_dim]
    float* v;       // [T][kv_heads][head_dim]
    float* mixed;   // [T][heads * head_dim] attention output

    // Gated DeltaNet
    float* qkv;     // [T][conv_channels]
    float* z;       // [T][value_heads][value_dim]
    float* conv;    // [T][conv_channels]
    float* b;       // [T][value_heads]
    float* a;       // [T][value_heads]
    float* memory;  // [T][value_heads][value_dim] what the state answered

    // feed-forward
    float* router;       // [T][experts]
    float* shared_gate;  // [T]

    size_t floats = 0;  // size of it all

    Workspace(const HybridConfig& config, const HybridWeights& weights, int tokens, float* base);
};

namespace {

constexpr int64_t kLogitBufferBytes = int64_t{8} << 20;

// Hands out aligned stretches of one buffer; with a null base it only counts.
class Carver {
  public:
    Carver(float* base, int64_t tokens) : base_(base), tokens_(tokens) {}

    float* take(int64_t floats_per_token) {
        float* taken = base_ == nullptr ? nullptr : base_ + used_;
        used_ += (static_cast<size_t>(floats_per_token * tokens_) + kAlign - 1) / kAlign * kAlign;
        peak_ = std::max(peak_, used_);
        return taken;
    }
    size_t mark() const { return used_; }
    void rewind(size_t mark) { used_ = mark; }
    size_t peak() const { return peak_; }

  private:
    static constexpr size_t kAlign = 16;  // floats: one 64-byte line
    float* base_;
    int64_t tokens_;
    size_t used_ = 0;
    size_t peak_ = 0;
};

uint64_t address(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

int64_t outputs(const OrderedProjection& projection) {
    int64_t rows = 0;
    for (const Matrix& part : projection.parts) rows += part.rows;
    return rows;
}

// Widest projection that arrives out of order; 0 when every file row is already in place.
int64_t widest_fused(const HybridWeights& weights) {
    int64_t widest = 0;
    for (const LayerWeights& layer : weights.layers) {
        if (!layer.delta_net) continue;
        for (const OrderedProjection* projection : {&layer.delta_net->qkvz, &layer.delta_net->ba}) {
            if (!projection->source.empty()) widest = std::max(widest, outputs(*projection));
        }
    }
    return widest;
}

}  // namespace

Forward::Workspace::Workspace(const HybridConfig& c, const HybridWeights& weights, int tokens, float* base) {
    Carver carve(base, tokens);
    x = carve.take(c.hidden);
    h = carve.take(c.hidden);
    cos = carve.take(c.rope_dims / 2);
    sin = carve.take(c.rope_dims / 2);
    fused = carve.take(widest_fused(weights));
    const size_t blocks = carve.mark();

    const int64_t query_width = static_cast<int64_t>(c.heads) * c.head_dim;
    const int64_t kv_width = static_cast<int64_t>(c.kv_heads) * c.head_dim;
    q_gate = carve.take(2 * query_width);
    q = carve.take(query_width);
    k = carve.take(kv_width);
    v = carve.take(kv_width);
    mixed = carve.take(query_width);

    carve.rewind(blocks);
    const int64_t value_width = static_cast<int64_t>(c.gdn_value_heads) * c.gdn_value_dim;
    qkv = carve.take(c.conv_channels());
    z = carve.take(value_width);
    conv = carve.take(c.conv_channels());
    b = carve.take(c.gdn_value_heads);
    a = carve.take(c.gdn_value_heads);
    memory = carve.take(value_width);

    carve.rewind(blocks);
    router = carve.take(c.experts);
    shared_gate = carve.take(1);
    floats = carve.peak();
}

Result<Forward> Forward::create(const HybridConfig& config, const HybridWeights& weights, Backend& backend,
                                int max_tokens) {
    Forward forward;
    forward.config_ = &config;
    forward.weights_ = &weights;
    forward.backend_ = &backend;
    forward.max_tokens_ = max_tokens;
    const size_t floats = Workspace(config, weights, max_tokens, nullptr).floats;
    Memory& memory = backend.memory();
    Result<Buffer> buffer = memory.allocate(floats * sizeof(float), "the forward pass's workspace");
    if (!buffer) return buffer.error();
    forward.workspace_ = std::move(*buffer);
    forward.rope_.resize(2 * static_cast<size_t>(max_tokens) * config.rope_frequencies.size());
    if (memory.on_host()) return forward;
    const int64_t row_bytes = int64_t{config.vocab} * static_cast<int64_t>(sizeof(float));
    const int64_t rows = std::clamp<int64_t>(kLogitBufferBytes / row_bytes, 1, max_tokens);
    Result<Buffer> logits = memory.allocate(static_cast<size_t>(rows * row_bytes), "logits");
    if (!logits) return logits.error();
    forward.logits_ = std::move(*logits);
    if (!backend.samples()) return forward;
    Result<Buffer> sampling = memory.allocate(sizeof(SamplingBuffer), "the sampling of tokens");
    if (!sampling) return sampling.error();
    forward.sampling_ = std::move(*sampling);
    return forward;
}

Status Forward::run(std::span<const int32_t> ids, int64_t first_position, const SequenceState& state, int logit_rows,
                    float* logits) {
    if (Status status = pass(ids, first_position, state, logit_rows, logits, nullptr); !status) return status;
    fetch_logits(logit_rows, logits);
    return finished(first_position, static_cast<int>(ids.size()));
}

Result<int32_t> Forward::run_and_sample(int32_t id, int64_t position, const SequenceState& state,
                                        const SamplingRule& rule, const DrawInput& input) {
    assert(samples());
    auto* const buffer = sampling_.as<SamplingBuffer>();
    const size_t used = static_cast<size_t>(input.penalised_count) * sizeof(int32_t);
    backend_->memory().upload(&buffer->input, &input, offsetof(DrawInput, penalised) + used);
    if (Status status = pass({&id, 1}, position, state, 1, nullptr, &rule); !status) return status.error();
    int32_t sampled = -1;
    backend_->memory().download(&sampled, &buffer->id, sizeof sampled);
    if (Status status = finished(position, 1); !status) return status.error();
    return sampled;
}

Status Forward::pass(std::span<const int32_t> ids, int64_t first_position, const SequenceState& state, int logit_rows,
                     float* logits, const SamplingRule* rule) {
    assert(!ids.empty() && ids.size() <= static_cast<size_t>(max_tokens_));
    assert(logit_rows >= 0 && static_cast<size_t>(logit_rows) <= ids.size());
    const int tokens = static_cast<int>(ids.size());
    const int hidden = config_->hidden;
    const Workspace work(*config_, *weights_, tokens, workspace_.as<float>());

    backend_->embed(weights_->embedding, ids, work.x);
    fill_rope_table(first_position, tokens, work);
    std::optional<Error> refused;
    const auto compute = [&] {
        if (Status status = run_layers(state, first_position, tokens, work); !status) refused = status.error();
        if (refused || logit_rows == 0) return;
        const float* last = work.x + static_cast<int64_t>(tokens - logit_rows) * hidden;
        backend_->rms_norm(last, logit_rows, hidden, weights_->final_norm, config_->rms_eps, work.h);
        write_logits(work.h, logit_rows, logits);
        if (rule == nullptr) return;
        auto* const sampling = sampling_.as<SamplingBuffer>();
        backend_->sample({logits_.as<float>(), config_->vocab, *rule, &sampling->input, &sampling->id});
    };
    // What a decoded token takes is always the same.
    if (tokens == 1 && probe_ == nullptr && logits_.bytes() > 0) {
        backend_->repeat(pass_key(state, logit_rows, rule), first_position, compute);
    } else {
        compute();
    }
    if (refused) return *refused;
    return {};
}

Status Forward::run_layers(const SequenceState& state, int64_t first_position, int tokens, const Workspace& work) {
    const int hidden = config_->hidden;
    size_t attention_index = 0;
    size_t delta_net_index = 0;
    for (int layer = 0; layer < config_->layers; ++layer) {
        const LayerWeights& weights = weights_->layers[static_cast<size_t>(layer)];
        if (probe_ != nullptr) show_probe(layer, work.x, tokens);
        backend_->rms_norm(work.x, tokens, hidden, weights.mixer_norm, config_->rms_eps, work.h);
        if (weights.attention) {
            KvView cache = state.attention[attention_index++];
            cache.v_scale = weights.attention->v_scale;
            if (!attention_layer(*weights.attention, cache, first_position, tokens, work)) {
                return Error{
                    ErrorKind::input,
                    fmt::format("Layer {} of the model gave keys or values that are not finite numbers, or too "
                                "large for the KV format, at tokens {} to {}: the file may be damaged.",
                                layer, first_position, first_position + tokens - 1)};
            }
        } else {
            delta_net_layer(*weights.delta_net, state.delta_net[delta_net_index++], tokens, work);
        }
        backend_->rms_norm(work.x, tokens, hidden, weights.ffn_norm, config_->rms_eps, work.h);
        feed_forward(weights.ffn, tokens, work);
    }
    if (probe_ != nullptr) show_probe(config_->layers, work.x, tokens);
    return {};
}

// Everything but the position and the contents of arrays that the calls of a pass depend on.
std::vector<uint64_t> Forward::pass_key(const SequenceState& state, int logit_rows, const SamplingRule* rule) const {
    std::vector<uint64_t> key = {address(weights_), weights_->placement, address(workspace_.data()),
                                 static_cast<uint64_t>(logit_rows)};
    if (rule != nullptr) {
        key.push_back(static_cast<uint64_t>(rule->top_k));
        for (const float number : {rule->temperature, rule->top_p, rule->min_p, rule->repeat_penalty}) {
            key.push_back(std::bit_cast<uint32_t>(number));
        }
    }
    for (const KvView& view : state.attention) {
        const KvOverlay& overlay = view.overlay;
        for (const KvSide* side : {&view.k, &view.v}) {
            key.insert(key.end(), {static_cast<uint64_t>(side->format), static_cast<uint64_t>(side->rotate),
                                   address(side->payload), address(side->scales), address(side->open)});
        }
        for (const int64_t number : {overlay.sinks, overlay.window, overlay.window_from, view.masked_first,
                                     view.masked_cells, static_cast<int64_t>(view.encoder)}) {
            key.push_back(static_cast<uint64_t>(number));
        }
        for (const f16_bits* copies : {overlay.sink_k, overlay.sink_v, overlay.ring_k, overlay.ring_v}) {
            key.push_back(address(copies));
        }
    }
    for (const SequenceState::DeltaNet& layer : state.delta_net) {
        key.insert(key.end(), {address(layer.conv), address(layer.state)});
    }
    return key;
}

Status Forward::finished(int64_t first_position, int tokens) {
    Status status = backend_->finish();
    if (status || status.error().kind != ErrorKind::input) return status;
    return Error{ErrorKind::input, fmt::format("The model gave keys or values that are not finite numbers, or too "
                                               "large for the KV format, at tokens {} to {}: the file may be damaged.",
                                               first_position, first_position + tokens - 1)};
}

// Where the back end's memory is not ordinary memory: into its buffer, from which what the last rows leave there is
// still to be fetched.
void Forward::write_logits(const float* h, int rows, float* logits) {
    const int64_t vocab = weights_->head.rows;
    if (logits_.bytes() == 0) {
        const MatmulTarget target{weights_->head, logits, vocab, false};
        return backend_->matmul(h, rows, {&target, 1});
    }
    for (int64_t first = 0; first < rows; first += logit_buffer_rows()) {
        if (first > 0) fetch_logits(static_cast<int>(first), logits);
        const int64_t count = std::min(logit_buffer_rows(), rows - first);
        const MatmulTarget target{weights_->head, logits_.as<float>(), vocab, false};
        backend_->matmul(h + first * config_->hidden, static_cast<int>(count), {&target, 1});
    }
}

// The last of `rows` rows, those that share the buffer.
void Forward::fetch_logits(int rows, float* logits) {
    if (rows == 0 || logits_.bytes() == 0) return;
    const int64_t first = (rows - 1) / logit_buffer_rows() * logit_buffer_rows();
    const auto bytes = static_cast<size_t>((rows - first) * weights_->head.rows) * sizeof(float);
    backend_->memory().download(logits + first * weights_->head.rows, logits_.data(), bytes);
}

int64_t Forward::logit_buffer_rows() const {
    return static_cast<int64_t>(logits_.bytes()) / (weights_->head.rows * static_cast<int64_t>(sizeof(float)));
}

void Forward::show_probe(int layer, const float* x, int tokens) const {
    Memory& memory = backend_->memory();
    if (memory.on_host()) return probe_(probe_context_, layer, x, tokens);
    std::vector<float> copy(static_cast<size_t>(tokens) * static_cast<size_t>(config_->hidden));
    memory.download(copy.data(), x, copy.size() * sizeof(float));
    probe_(probe_context_, layer, copy.data(), tokens);
}

bool Forward::attention_layer(const AttentionWeights& weights, const KvView& cache, int64_t first_position, int tokens,
                              const Workspace& work) {
    const HybridConfig& c = *config_;
    const std::array<MatmulTarget, 3> projections{{
        {weights.q_gate, work.q_gate, weights.q_gate.rows, false},
        {weights.k, work.k, weights.k.rows, false},
        {weights.v, work.v, weights.v.rows, false},
    }};
    backend_->matmul(work.h, tokens, projections);

    QkNormRope prepare;
    prepare.tokens = tokens;
    prepare.heads = c.heads;
    prepare.kv_heads = c.kv_heads;
    prepare.head_dim = c.head_dim;
    prepare.rope_dims = c.rope_dims;
    prepare.rms_eps = c.rms_eps;
    prepare.q_gate = work.q_gate;
    prepare.q_norm = weights.q_norm;
    prepare.k_norm = weights.k_norm;
    prepare.cos = work.cos;
    prepare.sin = work.sin;
    prepare.q = work.q;
    prepare.k = work.k;
    backend_->qk_norm_rope(prepare);

    const KvRows rows{cache, first_position, tokens, work.k, work.v};
    backend_->kv_basis(rows, work.q, c.heads);
    const bool stored = backend_->kv_store(rows);

    Attention attention;
    attention.cache = cache;
    attention.first_cell = first_position;
    attention.tokens = tokens;
    attention.heads = c.heads;
    attention.q = work.q;
    attention.q_gate = work.q_gate;
    attention.k_new = work.k;
    attention.v_new = work.v;
    attention.out = work.mixed;
    backend_->attention(attention);
    backend_->kv_overlay(rows);

    const MatmulTarget out{weights.out, work.x, c.hidden, true};
    backend_->matmul(work.mixed, tokens, {&out, 1});
    return stored;
}

void Forward::delta_net_layer(const DeltaNetWeights& weights, const SequenceState::DeltaNet& state, int tokens,
                              const Workspace& work) {
    const HybridConfig& c = *config_;
    const int64_t value_width = static_cast<int64_t>(c.gdn_value_heads) * c.gdn_value_dim;
    project(weights.qkvz, tokens, work,
            std::array{Destination{work.qkv, c.conv_channels()}, Destination{work.z, value_width}});
    project(weights.ba, tokens, work,
            std::array{Destination{work.b, c.gdn_value_heads}, Destination{work.a, c.gdn_value_heads}});

    CausalConv conv;
    conv.tokens = tokens;
    conv.channels = c.conv_channels();
    conv.kernel = c.conv_kernel;
    conv.x = work.qkv;
    conv.weight = weights.conv;
    conv.state = state.conv;
    conv.y = work.conv;
    backend_->causal_conv(conv);

    GatedDelta delta;
    delta.tokens = tokens;
    delta.key_heads = c.gdn_key_heads;
    delta.value_heads = c.gdn_value_heads;
    delta.key_dim = c.gdn_key_dim;
    delta.value_dim = c.gdn_value_dim;
    delta.qkv = work.conv;
    delta.b = work.b;
    delta.a = work.a;
    delta.a_scale = weights.a_scale;
    delta.dt_bias = weights.dt_bias;
    delta.key_head_of_value_head = weights.key_head_of_value_head;
    delta.state = state.state;
    delta.out = work.memory;
    backend_->gated_delta(delta);

    GatedNorm norm;
    norm.rows = tokens * c.gdn_value_heads;
    norm.width = c.gdn_value_dim;
    norm.rms_eps = c.rms_eps;
    norm.x = work.memory;
    norm.z = work.z;
    norm.weight = weights.norm;
    norm.y = work.memory;
    backend_->gated_norm(norm);

    const MatmulTarget out{weights.out, work.x, c.hidden, true};
    backend_->matmul(work.memory, tokens, {&out, 1});
}

void Forward::feed_forward(const FeedForwardWeights& weights, int tokens, const Workspace& work) {
    std::array<MatmulTarget, 2> gates;
    size_t gate_count = 0;
    if (weights.router.rows > 0) gates[gate_count++] = {weights.router, work.router, weights.router.rows, false};
    if (weights.shared_gate.rows > 0) gates[gate_count++] = {weights.shared_gate, work.shared_gate, 1, false};
    if (gate_count > 0) backend_->matmul(work.h, tokens, {gates.data(), gate_count});

    Moe moe;
    moe.tokens = tokens;
    moe.hidden = config_->hidden;
    moe.top_k = config_->experts_used;
    moe.experts = weights.experts;
    moe.expert_scales = weights.expert_scales;
    moe.host_experts = weights.host_experts;
    moe.shared = weights.shared ? &*weights.shared : nullptr;
    moe.x = work.h;
    moe.router_logits = work.router;
    moe.shared_gate = weights.shared_gate.rows > 0 ? work.shared_gate : nullptr;
    moe.y = work.x;
    backend_->moe(moe);
}

void Forward::project(const OrderedProjection& projection, int tokens, const Workspace& work,
                      std::span<const Destination> destinations) {
    if (!projection.source.empty()) {
        const int64_t width = outputs(projection);
        std::vector<MatmulTarget> targets;
        float* y = work.fused;
        for (const Matrix& part : projection.parts) {
            targets.push_back({part, y, width, false});
            y += part.rows;
        }
        backend_->matmul(work.h, tokens, targets);
        std::span<const int32_t> source = projection.source;
        for (const Destination& to : destinations) {
            backend_->gather_columns(work.fused, tokens, width, source.first(static_cast<size_t>(to.width)), to.y);
            source = source.subspan(static_cast<size_t>(to.width));
        }
        return;
    }
    std::vector<MatmulTarget> targets;
    size_t part = 0;
    int64_t part_row = 0;
    for (const Destination& to : destinations) {
        for (int64_t filled = 0; filled < to.width;) {
            const Matrix& w = projection.parts[part];
            const int64_t rows = std::min(to.width - filled, w.rows - part_row);
            targets.push_back({w.slice_rows(part_row, rows), to.y + filled, to.width, false});
            filled += rows;
            part_row += rows;
            if (part_row == w.rows) ++part, part_row = 0;
        }
    }
    backend_->matmul(work.h, tokens, targets);
}

void Forward::fill_rope_table(int64_t first_position, int tokens, const Workspace& work) {
    const size_t pairs = config_->rope_frequencies.size();
    const size_t floats = static_cast<size_t>(tokens) * pairs;
    float* const cosines = rope_.data();
    float* const sines = cosines + floats;
    for (int t = 0; t < tokens; ++t) {
        const double position = static_cast<double>(first_position + t);
        for (size_t j = 0; j < pairs; ++j) {
            const double angle = position * config_->rope_frequencies[j];
            const size_t at = static_cast<size_t>(t) * pairs + j;
            cosines[at] = static_cast<float>(std::cos(angle)) * config_->rope_scale;
            sines[at] = static_cast<float>(std::sin(angle)) * config_->rope_scale;
        }
    }
    backend_->memory().upload(work.cos, cosines, floats * sizeof(float));
    backend_->memory().upload(work.sin, sines, floats * sizeof(float));
}

}  // namespace octavo
