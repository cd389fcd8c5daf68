// The forward pass of a hybrid model, written once against the Backend operations.
//
// The caller owns the sequence's state; a pass reads and extends it. A pass over T tokens equals T passes over one
// token each, up to rounding (and exactly, for the same sequence of calls).
//
// Threads: one thread uses a Forward at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/backend.h"
#include "kernels/base/buffer.h"
#include "models/hybrid/config.h"
#include "models/hybrid/weights.h"

namespace octavo {

// Where one sequence keeps what the layers remember. Views; the session owns the memory.
struct SequenceState {
    struct DeltaNet {
        float* conv = nullptr;   // [conv_kernel - 1][conv_channels]
        float* state = nullptr;  // [value_heads][key_dim][value_dim]
    };
    std::vector<KvView> attention;    // one per full-attention layer, in layer order; v_scale is the weights'
    std::vector<DeltaNet> delta_net;  // one per Gated-DeltaNet layer, in layer order
};

class Forward {
  public:
    // `max_tokens`: most tokens of one pass; the workspace grows with it (see workspace_bytes). The weights lie in the
    // back end's memory (placed_weights.h).
    static Result<Forward> create(const HybridConfig& config, const HybridWeights& weights, Backend& backend,
                                  int max_tokens);

    int max_tokens() const { return max_tokens_; }
    Backend& backend() const { return *backend_; }
    int64_t workspace_bytes() const {
        return static_cast<int64_t>(workspace_.bytes() + logits_.bytes() + sampling_.bytes());
    }

    // Runs ids[T] at positions first_position.., with T <= max_tokens and the KV pools committed for them.
    // Writes the logits of the last `logit_rows` tokens: logits[logit_rows][vocab], in ordinary memory; 0 rows: none
    // are computed. Everything else (weights, state) lies in the back end's memory. Fails when keys or values are not
    // finite; the sequence's state is then undefined.
    Status run(std::span<const int32_t> ids, int64_t first_position, const SequenceState& state, int logit_rows,
               float* logits);

    // Whether the back end picks tokens by itself (Backend::sample). A pass over one token then gives the next one, and
    // the logits stay where they are: fetch_logits brings them, until another pass. -1: no logit is a number.
    bool samples() const { return sampling_.bytes() > 0; }
    Result<int32_t> run_and_sample(int32_t id, int64_t position, const SequenceState& state, const SamplingRule& rule,
                                   const DrawInput& input);
    void fetch_logits(float* logits) { fetch_logits(1, logits); }  // logits[vocab], in ordinary memory

    // When set, called with the residual stream x[T][hidden] before each layer and, with index `layers`, after the
    // last, in ordinary memory. For parity checks.
    using LayerProbe = void (*)(void* context, int layer, const float* x, int tokens);
    void set_probe(LayerProbe probe, void* context) { probe_ = probe, probe_context_ = context; }

  private:
    struct Workspace;
    Forward() = default;
    // Up to the logits of the last rows; with a rule, up to the token that it picks.
    Status pass(std::span<const int32_t> ids, int64_t first_position, const SequenceState& state, int logit_rows,
                float* logits, const SamplingRule* rule);
    Status run_layers(const SequenceState& state, int64_t first_position, int tokens, const Workspace& work);
    std::vector<uint64_t> pass_key(const SequenceState& state, int logit_rows, const SamplingRule* rule) const;
    bool attention_layer(const AttentionWeights& weights, const KvView& cache, int64_t first_position, int tokens,
                         const Workspace& work);
    void delta_net_layer(const DeltaNetWeights& weights, const SequenceState::DeltaNet& state, int tokens,
                         const Workspace& work);
    void feed_forward(const FeedForwardWeights& weights, int tokens, const Workspace& work);
    // Projects work.h and spreads the outputs, in head order, over the destinations.
    struct Destination {
        float* y;       // [T][width]
        int64_t width;  // outputs that go here
    };
    void project(const OrderedProjection& projection, int tokens, const Workspace& work,
                 std::span<const Destination> destinations);
    void fill_rope_table(int64_t first_position, int tokens, const Workspace& work);
    Status finished(int64_t first_position, int tokens);
    void show_probe(int layer, const float* x, int tokens) const;
    void write_logits(const float* h, int rows, float* logits);
    void fetch_logits(int rows, float* logits);
    int64_t logit_buffer_rows() const;

    const HybridConfig* config_ = nullptr;
    const HybridWeights* weights_ = nullptr;
    Backend* backend_ = nullptr;
    int max_tokens_ = 0;
    Buffer workspace_;
    std::vector<float> rope_;  // [2: cos, sin][max_tokens][rope_dims / 2]
    Buffer logits_;            // [some rows][vocab], where a back end cannot write to ordinary memory; else empty
    struct SamplingBuffer {
        DrawInput input;
        int32_t id;
    };
    Buffer sampling_;  // SamplingBuffer, where the back end samples
    LayerProbe probe_ = nullptr;
    void* probe_context_ = nullptr;
};

}  // namespace octavo
