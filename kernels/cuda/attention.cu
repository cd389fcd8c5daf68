// Attention: on the tensor cores for rows of 256 values in 16 bits or fewer (a few tokens: attention_decode.cu, many:
// attention_prefill.cu), else value by value in float32 (attention_float32.cu).
#include <algorithm>

#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/kv_hadamard.h"

namespace octavo::cuda {
namespace {

constexpr int kFewTokens = 4;  // each reads the cache for itself
constexpr int kMostDim = 1024;

// FP16 copies of the pass's own cells.
__global__ void fresh_kernel(const float* k, const float* v, int64_t count, f16_bits* fresh) {
    const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i >= count) return;
    fresh[i] = to_f16(k[i]);
    fresh[count + i] = to_f16(v[i]);
}

void copy_fresh(const float* k, const float* v, int64_t count, f16_bits* fresh, cudaStream_t stream) {
    constexpr int kThreads = 256;
    const auto blocks = static_cast<unsigned>(ceil_div<int64_t>(count, kThreads));
    fresh_kernel<<<blocks, kThreads, 0, stream>>>(k, v, count, fresh);
}

}  // namespace

void CudaBackend::attention(const Attention& op) {
    const Cache cache = device_cache(op.cache);
    const int dim = op.cache.head_dim;
    const int64_t fresh_values = int64_t{op.tokens} * op.cache.kv_heads * dim;
    const bool needs_fresh = !cache.k.raw || !cache.v.raw;
    const auto has_16_bits = [&](const Side& side) {
        return side.format != KvFormat::f32 && (side.format != KvFormat::bf16 || compute_capability_ >= 80);
    };
    const bool tensor = !float32_ && dim == kRowDim && has_16_bits(cache.k) && has_16_bits(cache.v);
    if (dim > kMostDim) {
        refused_ = Error{ErrorKind::device, "Heads of more than 1024 values do not run on the GPU; use --device cpu."};
        return;
    }
    const bool few = op.tokens <= kFewTokens;
    SplitAttention split = {};
    split.cache = cache;
    split.tokens = op.tokens;
    split.heads = op.heads;
    split.q = op.q;
    if (tensor) split.splits = few ? decode_splits(split, multiprocessors_) : prefill_splits(split, multiprocessors_);
    const auto padded = [](int64_t bytes) { return (bytes + 255) / 256 * 256; };
    const int64_t shares = tensor ? int64_t{op.tokens} * op.heads * split.splits : 0;
    const int64_t fresh_bytes = padded(needs_fresh ? 2 * fresh_values * static_cast<int64_t>(sizeof(f16_bits)) : 0);
    const int64_t softmax_bytes = padded(shares * static_cast<int64_t>(sizeof(float2)));
    const int64_t sum_bytes = shares * dim * static_cast<int64_t>(sizeof(float));
    std::byte* const base = scratch(std::max<int64_t>(256, fresh_bytes + softmax_bytes + sum_bytes));
    if (base == nullptr) return;

    auto* const fresh = reinterpret_cast<f16_bits*>(base);
    const bool one_token = tensor && op.tokens == 1;  // its copies are made on the way
    if (needs_fresh && !one_token) {
        copy_fresh(op.k_new, op.v_new, fresh_values, fresh, stream_);
        launched();
    }
    split.first_cell = position(op.first_cell);
    split.fresh_k = fresh;
    split.fresh_v = fresh + fresh_values;
    if (!tensor) {
        run_float32_attention({cache, split.fresh_k, split.fresh_v, split.first_cell, op.q, op.q_gate, op.cache.v_scale,
                               op.out, op.tokens, op.heads, cache.v.rotate ? hadamard_group(dim) : 1},
                              stream_);
        launched();
        return;
    }
    if (one_token) {
        split.new_k = op.k_new;
        split.new_v = op.v_new;
    }
    split.softmax = reinterpret_cast<float2*>(base + fresh_bytes);
    split.sums = reinterpret_cast<float*>(base + fresh_bytes + softmax_bytes);
    Finish finish{split.sums, split.softmax, split.splits,      op.q_gate,      op.cache.v_scale, op.out,
                  op.tokens,  op.heads,      op.cache.kv_heads, cache.v.rotate, KvFormat::f16};
    if (few) {
        finish.order = run_decode_attention(split, early(), stream_);
        launched();
        finish_decode_attention(finish, early(), stream_);
    } else {
        run_prefill_attention(split, stream_);
        launched();
        finish_prefill_attention(finish, stream_);
    }
    launched();
}

}  // namespace octavo::cuda
