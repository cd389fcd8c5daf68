// What every back end computes: the operations of a hybrid Gated-DeltaNet / gated-attention mixture-of-experts model.
// kernels/reference is the oracle (plain scalar code, double accumulation); kernels/cpu and kernels/cuda are compared
// with it.
//
// Conventions: activations are float32, row-major, [tokens][width], dense unless a stride is named. T is `tokens`.
// Every array an operation names lies in the back end's `memory()`; spans (ids, targets, experts) are the caller's own.
// A back end may round the activations that it multiplies with low-bit weights (below 8 bits) to 8 bits, in blocks of
// 32 with a scale of their own; the reference does not.
// Nothing here allocates per call beyond scratch that the back end keeps. Sizes are checked by the caller when a model
// is loaded; a wrong size here is our own bug. Results do not depend on the number of threads, and a token's result
// does not depend on which other tokens are in the call, except in the last bits of `gated_delta` and `moe`.
//
// Threads: one thread calls a back end at a time.
// Source of the arithmetic: the design's model_spec, sections 2 to 6.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "kernels/base/error.h"
#include "kernels/base/memory.h"
#include "kernels/base/thread_pool.h"
#include "kernels/kv_format.h"
#include "kernels/matrix.h"
#include "kernels/sampling.h"

namespace octavo {

// y[T][y_stride] (first `w.rows` of each row) = W x, or += with `accumulate`.
struct MatmulTarget {
    Matrix w;
    float* y = nullptr;
    int64_t y_stride = 0;  // floats between two tokens in y; >= w.rows
    bool accumulate = false;
};

// Prepares q and k for attention: RMS norm over each head, then rotary on the first rope_dims values, pairing j with
// j + rope_dims / 2.
struct QkNormRope {
    int tokens = 0;
    int heads = 0;
    int kv_heads = 0;
    int head_dim = 0;
    int rope_dims = 0;
    float rms_eps = 0;
    const float* q_gate = nullptr;  // [T][heads][2 * head_dim]: query, then gate, per head
    const float* q_norm = nullptr;  // [heads][head_dim]
    const float* k_norm = nullptr;  // [kv_heads][head_dim]
    const float* cos = nullptr;     // [T][rope_dims / 2]
    const float* sin = nullptr;     // [T][rope_dims / 2]
    float* q = nullptr;             // out: [T][heads][head_dim]
    float* k = nullptr;             // in and out: [T][kv_heads][head_dim]
};

// T new cells of one layer, the first at `first_cell`. A pass brings them into the cache's basis (kv_basis), encodes
// them (kv_store), attends, and then keeps the FP16 copies (kv_overlay): the overlay of before the pass is what the
// pass's own queries read.
struct KvRows {
    KvView cache;
    int64_t first_cell = 0;
    int tokens = 0;
    float* k = nullptr;  // [T][kv_heads][head_dim]; nullptr: that side is left alone
    float* v = nullptr;  // [T][kv_heads][head_dim]; likewise
};

// Causal attention of T queries, the first at cell `first_cell`, over all cells up to and including its own; then the
// output gate: out = softmax(q k / sqrt(head_dim)) v * sigmoid(gate). The new cells are in the bulk already, and here
// as rows too, for those that are read in FP16 (KvOverlay). Rotation and v_scale are undone on the output.
struct Attention {
    KvView cache;
    int64_t first_cell = 0;
    int tokens = 0;
    int heads = 0;                  // query head n reads KV head n / (heads / kv_heads)
    const float* q = nullptr;       // [T][heads][head_dim], in the basis of K
    const float* q_gate = nullptr;  // [T][heads][2 * head_dim]: the second half of each head is the gate
    const float* k_new = nullptr;   // [T][kv_heads][head_dim], in the cache's basis
    const float* v_new = nullptr;   // [T][kv_heads][head_dim]
    float* out = nullptr;           // [T][heads][head_dim]
};

// Causal depthwise convolution over time, then SiLU. Tap kernel-1 is the current token.
struct CausalConv {
    int tokens = 0;
    int channels = 0;
    int kernel = 0;
    const float* x = nullptr;       // [T][channels]
    const float* weight = nullptr;  // [channels][kernel]
    float* state = nullptr;         // in and out: [kernel - 1][channels], oldest first, before activation
    float* y = nullptr;             // [T][channels]; may not alias x
};

enum class DeltaForm {
    automatic,  // recurrent for a few tokens, chunked for many
    recurrent,
    chunked,
};

// Gated DeltaNet. q and k are L2-normalised here (eps 1e-6 inside the sum) and q scaled by 1/sqrt(key_dim);
// beta = sigmoid(b), g = a_scale * softplus(a + dt_bias). Per token and value head, on S[key_dim][value_dim]:
// S *= exp(g); d = beta (v - S^T k); S += k d^T; out = S^T q.
struct GatedDelta {
    int tokens = 0;
    int key_heads = 0;
    int value_heads = 0;
    int key_dim = 0;
    int value_dim = 0;
    const float* qkv = nullptr;                       // [T][2 * key_heads * key_dim + value_heads * value_dim]: q, k, v
    const float* b = nullptr;                         // [T][value_heads]
    const float* a = nullptr;                         // [T][value_heads]
    const float* a_scale = nullptr;                   // [value_heads]: -exp(A_log)
    const float* dt_bias = nullptr;                   // [value_heads]
    const int32_t* key_head_of_value_head = nullptr;  // [value_heads]
    float* state = nullptr;                           // in and out: [value_heads][key_dim][value_dim]
    float* out = nullptr;                             // [T][value_heads][value_dim]
    DeltaForm form = DeltaForm::automatic;
};

// y = RMSnorm(x) * weight * SiLU(z), per row of `width`.
struct GatedNorm {
    int rows = 0;
    int width = 0;
    float rms_eps = 0;
    const float* x = nullptr;       // [rows][width]
    const float* z = nullptr;       // [rows][width]
    const float* weight = nullptr;  // [width]
    float* y = nullptr;             // [rows][width]; may alias x
};

// Feed-forward part of a layer: y += sum over the top_k experts of p_e * ffn_e(x), + sigmoid(shared_gate) * shared(x).
// p = softmax over all router logits, renormalised over the chosen; ties go to the lower index.
// A dense model has no experts, and `shared` without a gate.
struct Moe {
    int tokens = 0;
    int hidden = 0;
    int top_k = 0;
    std::span<const FfnMatrices> experts;  // [E], of one shape; may be empty. One that is absent adds nothing here
    // [E] those of them that are absent above, in ordinary memory, and the others absent; empty: there are none. Read
    // by a back end that works in two places alone (split_backend.h).
    std::span<const FfnMatrices> host_experts = {};
    const FfnMatrices* shared = nullptr;   // may be nullptr
    const float* x = nullptr;              // [T][hidden]
    const float* router_logits = nullptr;  // [T][E]
    const float* shared_gate = nullptr;    // [T] logits; nullptr: factor 1
    float* y = nullptr;                    // [T][hidden], added to
    // [E][3] in the back end's memory: Matrix::scale of the experts' gate, up and down; nullptr: all experts' are equal
    const float* expert_scales = nullptr;
};

// What a back end takes for itself, for memory plans.
struct BackendBytes {
    int64_t scratch = 0;  // as it has grown so far; on the CPU, pages that no operation has touched are not taken yet
    int64_t code = 0;     // kernels loaded so far and what the driver keeps for them; 0: no matter
};

class Backend {
  public:
    virtual ~Backend() = default;

    virtual std::string name() const = 0;  // for people: "cpu, avx512, 2 threads"
    virtual Memory& memory() = 0;
    virtual BackendBytes own_bytes() { return {}; }
    // Waits for everything that was asked for, and tells what went wrong since the last call: ErrorKind::device, or
    // input where a back end that runs behind its caller could not encode keys or values (see kv_store).
    virtual Status finish() { return {}; }
    // Runs `work`: calls of this back end that are the same, with the same arguments, whenever `key` is; but for the
    // first cell of a pass, which is `first_cell` in all of them. A back end may keep a record of the calls and run
    // that.
    virtual void repeat(std::span<const uint64_t> key, int64_t first_cell, const std::function<void()>& work) {
        (void)key, (void)first_cell;
        work();
    }

    // Ordinary code between the operations, which works on shared memory: `work` begins when all that was asked for
    // before is done, may run beside what is asked for next, and is done before what is asked for after `join_host`.
    // It may run on another thread, and again with a recorded pass: it outlives the back end.
    virtual void start_on_host(const std::function<void()>& work) { work(); }
    virtual void join_host() {}

    virtual void embed(const Matrix& table, std::span<const int32_t> ids, float* x) = 0;  // x[T][table.cols]
    virtual void rms_norm(const float* x, int rows, int width, const float* weight, float eps, float* y) = 0;
    // All targets read the same x[T][cols].
    virtual void matmul(const float* x, int tokens, std::span<const MatmulTarget> targets) = 0;
    virtual void qk_norm_rope(const QkNormRope& op) = 0;
    // Rotates rows of q[T][heads][head_dim] and k, divides rows of v by v_scale and rotates them, as the cache asks.
    virtual void kv_basis(const KvRows& rows, float* q, int heads) = 0;
    // Encodes row formats cell by cell, per-channel formats for every group that these cells complete. False when a
    // value is not finite or too large for the format; what was written then must not be read. A back end that runs
    // behind its caller answers true and says it in `finish`.
    virtual bool kv_store(const KvRows& rows) = 0;
    // Reads cells back into rows.k and rows.v, in the cache's basis, as the query at `position` reads them: the FP16
    // copy where there is one, else what the bulk decodes to. For conversions and measurements.
    virtual void kv_load(const KvRows& rows, int64_t position) = 0;
    virtual void attention(const Attention& op) = 0;
    // Puts FP16 copies of the rows where the overlay and the open groups want them.
    virtual void kv_overlay(const KvRows& rows) = 0;
    virtual void causal_conv(const CausalConv& op) = 0;
    virtual void gated_delta(const GatedDelta& op) = 0;
    virtual void gated_norm(const GatedNorm& op) = 0;
    virtual void moe(const Moe& op) = 0;
    // y[count] += x[count], which may lie in shared memory (Memory::allocate_shared).
    virtual void add(const float* x, int64_t count, float* y) {
        for (int64_t i = 0; i < count; ++i) y[i] += x[i];
    }
    // y[t][i] = x[t][source[i]]: brings fused, interleaved projections into head order.
    // `source` lies in memory() too.
    virtual void gather_columns(const float* x, int tokens, int64_t x_stride, std::span<const int32_t> source,
                                float* y) = 0;
    // Whether it has `sample`: worth while where logits are far from ordinary memory.
    virtual bool samples() const { return false; }
    virtual void sample(const Sampling& op) { (void)op; }
};

std::unique_ptr<Backend> make_reference_backend();

enum class CpuIsa { generic, avx2, avx512 };
// The best instruction set of this build that this machine has.
CpuIsa detect_cpu_isa();
// `threads` as in ThreadPool. An `isa` above detect_cpu_isa() is lowered to it. dot_instructions: whether to use the
// instructions for products of bytes that newer processors have (VNNI); results are the same to the bit.
std::unique_ptr<Backend> make_cpu_backend(int threads, CpuIsa isa, bool dot_instructions = true);

}  // namespace octavo
