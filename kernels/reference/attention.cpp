#include <algorithm>
#include <limits>

#include "kernels/kv_hadamard.h"
#include "kernels/reference/reference.h"
#include "kernels/reference/scalar_math.h"

namespace octavo::reference {
namespace {

// One side of the cache as the queries of a pass see it: for one KV head, every cell's row decoded from the bulk, and
// every cell's FP16 copy where there is one.
class SideReader {
  public:
    SideReader(const Attention& op, const KvSide& side, const float* rows_new, const f16_bits* sinks,
               const f16_bits* ring, int kv_head)
        : op_(op), side_(side), spec_(kv_format_spec(side.format)), cells_(op.first_cell + op.tokens) {
        const size_t floats = static_cast<size_t>(cells_ * op.cache.head_dim);
        bulk_.resize(floats);
        exact_.resize(floats);
        for (int64_t cell = 0; cell < cells_; ++cell) read_bulk(cell, kv_head);
        if (spec_.raw()) return;
        for (int64_t cell = 0; cell < cells_; ++cell) read_exact(cell, kv_head, rows_new, sinks, ring);
    }

    // The row of `cell` for the query at `position`.
    const float* row(int64_t position, int64_t cell) const {
        const KvOverlay& overlay = op_.cache.overlay;
        const bool in_window = cell > position - overlay.window && cell >= overlay.window_from;
        const bool in_open_group = spec_.per_channel() && cell >= (position + 1) / kKvGroupCells * kKvGroupCells;
        const bool exact = !spec_.raw() && (cell < overlay.sinks || in_window || in_open_group);
        return (exact ? exact_ : bulk_).data() + cell * op_.cache.head_dim;
    }

  private:
    void read_bulk(int64_t cell, int head) {
        const int dim = op_.cache.head_dim;
        float* out = bulk_.data() + cell * dim;
        const std::byte* payload = kv_payload_at(op_.cache, side_, cell, head);
        const f16_bits* scales = kv_scales_at(op_.cache, side_, cell, head);
        if (!spec_.per_channel()) return spec_.codec->decode(payload, scales, dim, out);
        if (cell >= cells_ / kKvGroupCells * kKvGroupCells) return;  // its group is still open
        for (int channel = 0; channel < dim; ++channel) {
            float values[kKvGroupCells];
            spec_.codec->decode(payload + channel * 8, scales + channel, kKvGroupCells, values);
            out[channel] = values[cell % kKvGroupCells];
        }
    }

    void read_exact(int64_t cell, int head, const float* rows_new, const f16_bits* sinks, const f16_bits* ring) {
        const KvView& cache = op_.cache;
        const auto copy = [&](auto* base, int64_t slot, auto convert) {
            const auto* from = base + (slot * cache.kv_heads + head) * cache.head_dim;
            for (int i = 0; i < cache.head_dim; ++i) exact_[cell * cache.head_dim + i] = convert(from[i]);
        };
        if (cell >= op_.first_cell) {
            copy(rows_new, cell - op_.first_cell, [](float x) { return f16_to_f32(f32_to_f16(x)); });
        } else if (cell < cache.overlay.sinks) {
            copy(sinks, cell, f16_to_f32);
        } else if (cell >= op_.first_cell - cache.overlay.window && cell >= cache.overlay.window_from) {
            copy(ring, cell % cache.overlay.window, f16_to_f32);
        } else if (spec_.per_channel() && cell >= op_.first_cell / kKvGroupCells * kKvGroupCells) {
            copy(side_.open, cell % kKvGroupCells, f16_to_f32);
        }
    }

    const Attention& op_;
    const KvSide& side_;
    const KvFormatSpec& spec_;
    int64_t cells_;
    std::vector<float> bulk_;   // [cells][head_dim]
    std::vector<float> exact_;  // [cells][head_dim]
};

// softmax(q k / sqrt(head_dim)) v of the query at `position`; zeros when all its cells are masked.
std::vector<double> attend(const KvView& cache, const float* q, const SideReader& k, const SideReader& v,
                           int64_t position) {
    const int head_dim = cache.head_dim;
    const int64_t cells = position + 1;
    std::vector<double> weights(static_cast<size_t>(cells));
    for (int64_t cell = 0; cell < cells; ++cell) {
        const bool masked = cell >= cache.masked_first && cell < cache.masked_first + cache.masked_cells;
        const double score = dot(q, k.row(position, cell), head_dim) / std::sqrt(static_cast<double>(head_dim));
        weights[cell] = masked ? -std::numeric_limits<double>::infinity() : score;
    }
    const double largest = *std::max_element(weights.begin(), weights.end());
    std::vector<double> mean(static_cast<size_t>(head_dim));
    if (largest == -std::numeric_limits<double>::infinity()) return mean;
    double sum = 0;
    for (double& weight : weights) sum += weight = std::exp(weight - largest);

    for (int64_t cell = 0; cell < cells; ++cell) {
        const float* row = v.row(position, cell);
        for (int i = 0; i < head_dim; ++i) mean[i] += weights[cell] / sum * row[i];
    }
    return mean;
}

// Out of the cache's basis, then the gate.
void finish(const Attention& op, int kv_head, const std::vector<double>& mean, const float* gate, float* out) {
    const int dim = op.cache.head_dim;
    std::vector<float> o(mean.begin(), mean.end());
    if (op.cache.v.rotate) hadamard(o.data(), dim);
    for (int i = 0; i < dim; ++i) {
        const double scale = op.cache.v_scale == nullptr ? 1.0 : op.cache.v_scale[kv_head * dim + i];
        out[i] = static_cast<float>(o[i] * scale * sigmoid(gate[i]));
    }
}

}  // namespace

void kv_load(const KvRows& rows, int64_t position) {
    Attention op;  // a pass of no new cells, so that every cell is read from where the cache keeps it
    op.cache = rows.cache;
    op.first_cell = position + 1;
    const KvOverlay& overlay = rows.cache.overlay;
    const int dim = rows.cache.head_dim;
    const auto load = [&](const KvSide& side, const f16_bits* sinks, const f16_bits* ring, int head, float* out) {
        if (out == nullptr) return;
        const SideReader reader(op, side, nullptr, sinks, ring, head);
        for (int t = 0; t < rows.tokens; ++t) {
            const float* row = reader.row(position, rows.first_cell + t);
            std::copy_n(row, dim, out + (int64_t{t} * rows.cache.kv_heads + head) * dim);
        }
    };
    for (int head = 0; head < rows.cache.kv_heads; ++head) {
        load(rows.cache.k, overlay.sink_k, overlay.ring_k, head, rows.k);
        load(rows.cache.v, overlay.sink_v, overlay.ring_v, head, rows.v);
    }
}

void attention(const Attention& op) {
    const int dim = op.cache.head_dim;
    const int queries_per_kv_head = op.heads / op.cache.kv_heads;
    const KvOverlay& overlay = op.cache.overlay;
    for (int kv_head = 0; kv_head < op.cache.kv_heads; ++kv_head) {
        const SideReader k(op, op.cache.k, op.k_new, overlay.sink_k, overlay.ring_k, kv_head);
        const SideReader v(op, op.cache.v, op.v_new, overlay.sink_v, overlay.ring_v, kv_head);
        for (int t = 0; t < op.tokens; ++t) {
            for (int n = 0; n < queries_per_kv_head; ++n) {
                const int64_t row = int64_t{t} * op.heads + kv_head * queries_per_kv_head + n;
                const std::vector<double> mean = attend(op.cache, op.q + row * dim, k, v, op.first_cell + t);
                finish(op, kv_head, mean, op.q_gate + row * 2 * dim + dim, op.out + row * dim);
            }
        }
    }
}

}  // namespace octavo::reference
