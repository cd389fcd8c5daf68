// The gated delta rule: q, k and the gates are prepared once per token in the shared scratch, then each value head (or
// some of its columns, when heads are few) walks its tokens.
#include <algorithm>
#include <cassert>
#include <cmath>

#include "kernels/cpu/cpu_backend.h"

namespace octavo {
namespace {

// From how many tokens on the chunked form is faster (tests/bench/mixer_bench): it pays early where a head's state does
// not fit the L1 cache, and makes little difference where it does.
int chunked_from_tokens(const GatedDelta& op) { return op.key_dim * op.value_dim > 64 * 64 ? 16 : 64; }
// Columns are split no finer than this: four of the widest vectors.
constexpr int kColumnStep = 64;

// What is prepared per token: q[key_heads][key_width], k likewise, beta[value_heads], g[value_heads].
struct Prepared {
    float* data;
    int key_width;
    int64_t k_offset;
    int64_t beta_offset;
    int64_t g_offset;
    int64_t token_floats;

    Prepared(const GatedDelta& op, std::byte* scratch)
        : data(reinterpret_cast<float*>(scratch)),
          key_width(padded_width(op.key_dim)),
          k_offset(int64_t{op.key_heads} * key_width),
          beta_offset(2 * k_offset),
          g_offset(beta_offset + op.value_heads),
          token_floats(padded_width(static_cast<int>(g_offset) + op.value_heads)) {}
};

float softplus(float x) { return x > 20.0f ? x : std::log1p(std::exp(x)); }
float sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }

int64_t qkv_width(const GatedDelta& op) {
    return int64_t{2} * op.key_heads * op.key_dim + int64_t{op.value_heads} * op.value_dim;
}

void prepare_token(const GatedDelta& op, const IsaKernels& isa, const Prepared& prepared, int64_t token, float* out) {
    const float* const q = op.qkv + token * qkv_width(op);
    const float* const k = q + int64_t{op.key_heads} * op.key_dim;
    const float q_scale = 1.0f / std::sqrt(static_cast<float>(op.key_dim));
    for (int64_t h = 0; h < op.key_heads; ++h) {
        isa.normalise_row(q + h * op.key_dim, op.key_dim, q_scale, out + h * prepared.key_width, prepared.key_width);
        isa.normalise_row(k + h * op.key_dim, op.key_dim, 1.0f, out + prepared.k_offset + h * prepared.key_width,
                          prepared.key_width);
    }
    for (int64_t h = 0; h < op.value_heads; ++h) {
        out[prepared.beta_offset + h] = sigmoid(op.b[token * op.value_heads + h]);
        out[prepared.g_offset + h] = op.a_scale[h] * softplus(op.a[token * op.value_heads + h] + op.dt_bias[h]);
    }
}

// Tokens [first, first + tokens) of a value head, columns [column, column + columns).
DeltaHead head_task(const GatedDelta& op, const Prepared& prepared, int64_t first, int tokens, int64_t head, int column,
                    int columns) {
    const int64_t key_head = op.key_head_of_value_head[head];
    const int64_t value_at = head * op.value_dim + column;
    const int64_t out_stride = int64_t{op.value_heads} * op.value_dim;
    return {
        .tokens = tokens,
        .key_dim = op.key_dim,
        .key_width = prepared.key_width,
        .columns = columns,
        .q = prepared.data + key_head * prepared.key_width,
        .k = prepared.data + prepared.k_offset + key_head * prepared.key_width,
        .qk_stride = prepared.token_floats,
        .v = op.qkv + first * qkv_width(op) + int64_t{2} * op.key_heads * op.key_dim + value_at,
        .v_stride = qkv_width(op),
        .beta = prepared.data + prepared.beta_offset + head,
        .g = prepared.data + prepared.g_offset + head,
        .gate_stride = prepared.token_floats,
        .state = op.state + head * op.key_dim * op.value_dim + column,
        .state_stride = op.value_dim,
        .out = op.out + first * out_stride + value_at,
        .out_stride = out_stride,
    };
}

}  // namespace

void CpuBackend::gated_delta(const GatedDelta& op) {
    const Prepared prepared(op, shared_scratch());
    const bool chunked =
        op.form == DeltaForm::chunked || (op.form == DeltaForm::automatic && op.tokens >= chunked_from_tokens(op));

    // Each task's columns: all of a head, unless that leaves threads without work.
    int columns_per_task = std::min(op.value_dim, kDeltaColumns);
    while (columns_per_task > kColumnStep && op.value_heads * (op.value_dim / columns_per_task) < 2 * pool_.threads()) {
        columns_per_task /= 2;
    }
    const int tasks_per_head = (op.value_dim + columns_per_task - 1) / columns_per_task;

    // As many tokens at a time as the scratch holds, in whole chunks.
    const int64_t fit = kSharedScratchBytes / static_cast<int64_t>(sizeof(float)) / prepared.token_floats;
    const int step = static_cast<int>(std::min<int64_t>(fit / kDeltaChunk * kDeltaChunk, op.tokens));
    assert(step > 0 || op.tokens == 0);
    assert(delta_scratch_floats(prepared.key_width, columns_per_task) <= kWorkerScratchFloats);

    for (int first = 0; first < op.tokens; first += step) {
        const int tokens = std::min(step, op.tokens - first);
        constexpr int kTokensPerTask = 16;
        pool_.run((tokens + kTokensPerTask - 1) / kTokensPerTask, [&](int task, int) {
            const int end = std::min(tokens, (task + 1) * kTokensPerTask);
            for (int t = task * kTokensPerTask; t < end; ++t) {
                prepare_token(op, isa_, prepared, first + t, prepared.data + t * prepared.token_floats);
            }
        });
        pool_.run(op.value_heads * tasks_per_head, [&](int task, int worker) {
            const int column = task % tasks_per_head * columns_per_task;
            const int columns = std::min(columns_per_task, op.value_dim - column);
            const DeltaHead head = head_task(op, prepared, first, tokens, task / tasks_per_head, column, columns);
            if (chunked) {
                isa_.delta_chunked(head, task_scratch(worker));
            } else {
                isa_.delta_recurrent(head);
            }
        });
    }
}

}  // namespace octavo
