#include <algorithm>

#include "kernels/kv_codec.h"
#include "kernels/reference/reference.h"
#include "kernels/reference/scalar_math.h"

namespace octavo::reference {
namespace {

const KvCodec& codec_of(KvFormat format) {
    switch (format) {
        case KvFormat::f32: return kv_codec::f32;
        case KvFormat::f16: return kv_codec::f16;
        case KvFormat::bf16: return kv_codec::bf16;
    }
    __builtin_unreachable();
}

// One row of one side, and how to read and write it.
struct StoredRow {
    const KvCodec& codec;
    std::byte* payload = nullptr;
    f16_bits* scales = nullptr;  // nullptr for formats without
};

StoredRow stored_row(const KvView& cache, const KvSide& side, int64_t cell, int64_t kv_head) {
    const int64_t row = cell * cache.kv_heads + kv_head;
    std::byte* payload = side.payload + row * kv_payload_bytes_per_row(side.format, cache.head_dim);
    std::byte* scales =
        side.scales == nullptr ? nullptr : side.scales + row * kv_scale_bytes_per_row(side.format, cache.head_dim);
    return {codec_of(side.format), payload, reinterpret_cast<f16_bits*>(scales)};
}

void store_row(const KvView& cache, const KvSide& side, int64_t cell, int64_t kv_head, const float* values) {
    const StoredRow row = stored_row(cache, side, cell, kv_head);
    row.codec.encode(values, cache.head_dim, row.payload, row.scales, KvEncoder::reference);
}

// Cells [0, cells) of one KV head: [cells][head_dim].
std::vector<float> load_rows(const KvView& cache, const KvSide& side, int64_t cells, int64_t kv_head) {
    std::vector<float> rows(static_cast<size_t>(cells * cache.head_dim));
    for (int64_t cell = 0; cell < cells; ++cell) {
        const StoredRow row = stored_row(cache, side, cell, kv_head);
        row.codec.decode(row.payload, row.scales, cache.head_dim, &rows[cell * cache.head_dim]);
    }
    return rows;
}

// softmax(q k / sqrt(head_dim)) v over `cells` cells; k and v are [cells][head_dim].
std::vector<double> attend(const float* q, const float* k, const float* v, int64_t cells, int64_t head_dim) {
    std::vector<double> weights(static_cast<size_t>(cells));
    for (int64_t cell = 0; cell < cells; ++cell) {
        weights[cell] = dot(q, k + cell * head_dim, head_dim) / std::sqrt(static_cast<double>(head_dim));
    }
    const double largest = *std::max_element(weights.begin(), weights.end());
    double sum = 0;
    for (double& weight : weights) sum += weight = std::exp(weight - largest);

    std::vector<double> mean(static_cast<size_t>(head_dim));
    for (int64_t cell = 0; cell < cells; ++cell) {
        for (int64_t i = 0; i < head_dim; ++i) mean[i] += weights[cell] / sum * v[cell * head_dim + i];
    }
    return mean;
}

}  // namespace

void kv_store(const KvStore& op) {
    const KvView& cache = op.cache;
    for (int64_t t = 0; t < op.tokens; ++t) {
        for (int64_t h = 0; h < cache.kv_heads; ++h) {
            const int64_t offset = (t * cache.kv_heads + h) * cache.head_dim;
            store_row(cache, cache.k, op.first_cell + t, h, op.k + offset);
            store_row(cache, cache.v, op.first_cell + t, h, op.v + offset);
        }
    }
}

void attention(const Attention& op) {
    const int64_t dim = op.cache.head_dim;
    const int64_t queries_per_kv_head = op.heads / op.cache.kv_heads;
    for (int64_t kv_head = 0; kv_head < op.cache.kv_heads; ++kv_head) {
        const std::vector<float> k = load_rows(op.cache, op.cache.k, op.first_cell + op.tokens, kv_head);
        const std::vector<float> v = load_rows(op.cache, op.cache.v, op.first_cell + op.tokens, kv_head);
        for (int64_t t = 0; t < op.tokens; ++t) {
            for (int64_t n = 0; n < queries_per_kv_head; ++n) {
                const int64_t head = t * op.heads + kv_head * queries_per_kv_head + n;
                const std::vector<double> mean =
                    attend(op.q + head * dim, k.data(), v.data(), op.first_cell + t + 1, dim);
                const float* gate = op.q_gate + head * 2 * dim + dim;
                for (int64_t i = 0; i < dim; ++i) {
                    op.out[head * dim + i] = static_cast<float>(mean[i] * sigmoid(gate[i]));
                }
            }
        }
    }
}

}  // namespace octavo::reference
