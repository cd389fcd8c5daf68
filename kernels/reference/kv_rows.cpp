// What happens to new keys and values: into the cache's basis, into the bulk, and into the FP16 copies.
#include <array>

#include "kernels/kv_hadamard.h"
#include "kernels/reference/reference.h"

namespace octavo::reference {
namespace {

struct Side {
    const KvSide& cache;
    const float* rows;  // [T][kv_heads][head_dim]
};

// `rows` is null where the caller leaves a side alone.
std::array<Side, 2> sides(const KvRows& rows) { return {Side{rows.cache.k, rows.k}, Side{rows.cache.v, rows.v}}; }

const float* new_row(const KvRows& rows, const Side& side, int64_t cell, int head) {
    return side.rows + ((cell - rows.first_cell) * rows.cache.kv_heads + head) * rows.cache.head_dim;
}

f16_bits* fp16_row(const KvView& cache, f16_bits* base, int64_t slot, int head) {
    return base + (slot * cache.kv_heads + head) * cache.head_dim;
}

bool store_row(const KvRows& rows, const Side& side, int64_t cell, int head) {
    const KvFormatSpec& spec = kv_format_spec(side.cache.format);
    return spec.codec->encode(new_row(rows, side, cell, head), rows.cache.head_dim,
                              kv_payload_at(rows.cache, side.cache, cell, head),
                              kv_scales_at(rows.cache, side.cache, cell, head), rows.cache.encoder);
}

// One channel of the group that ends before `end`: cells from the open buffer, then from the new rows, all as FP16.
void channel_values(const KvRows& rows, const Side& side, int64_t end, int head, int channel, float* values) {
    for (int64_t cell = end - kKvGroupCells; cell < end; ++cell) {
        const f16_bits value = cell < rows.first_cell
                                   ? fp16_row(rows.cache, side.cache.open, cell % kKvGroupCells, head)[channel]
                                   : f32_to_f16(new_row(rows, side, cell, head)[channel]);
        *values++ = f16_to_f32(value);
    }
}

bool store_group(const KvRows& rows, const Side& side, int64_t end, int head) {
    constexpr int run_bytes = 8;
    const KvCodec& codec = *kv_format_spec(side.cache.format).codec;
    std::byte* payload = kv_payload_at(rows.cache, side.cache, end - 1, head);
    f16_bits* scales = kv_scales_at(rows.cache, side.cache, end - 1, head);
    for (int channel = 0; channel < rows.cache.head_dim; ++channel) {
        float values[kKvGroupCells];
        channel_values(rows, side, end, head, channel, values);
        if (!codec.encode(values, kKvGroupCells, payload + channel * run_bytes, scales + channel, rows.cache.encoder)) {
            return false;
        }
    }
    return true;
}

bool store_side(const KvRows& rows, const Side& side) {
    const bool per_channel = kv_format_spec(side.cache.format).per_channel();
    for (int64_t cell = rows.first_cell; cell < rows.first_cell + rows.tokens; ++cell) {
        if (per_channel && (cell + 1) % kKvGroupCells != 0) continue;
        for (int head = 0; head < rows.cache.kv_heads; ++head) {
            if (!(per_channel ? store_group(rows, side, cell + 1, head) : store_row(rows, side, cell, head)))
                return false;
        }
    }
    return true;
}

void copy_row(const KvRows& rows, const Side& side, int64_t cell, f16_bits* base, int64_t slot) {
    for (int head = 0; head < rows.cache.kv_heads; ++head) {
        const float* from = new_row(rows, side, cell, head);
        f16_bits* to = fp16_row(rows.cache, base, slot, head);
        for (int i = 0; i < rows.cache.head_dim; ++i) to[i] = f32_to_f16(from[i]);
    }
}

}  // namespace

void kv_basis(const KvRows& rows, float* q, int heads) {
    const KvView& cache = rows.cache;
    const int dim = cache.head_dim;
    for (int64_t row = 0; cache.k.rotate && q != nullptr && row < int64_t{rows.tokens} * heads; ++row)
        hadamard(q + row * dim, dim);
    for (int64_t row = 0; row < int64_t{rows.tokens} * cache.kv_heads; ++row) {
        if (cache.k.rotate && rows.k != nullptr) hadamard(rows.k + row * dim, dim);
        if (rows.v == nullptr) continue;
        float* v = rows.v + row * dim;
        const float* scale = cache.v_scale == nullptr ? nullptr : cache.v_scale + row % cache.kv_heads * dim;
        for (int i = 0; scale != nullptr && i < dim; ++i) v[i] /= scale[i];
        if (cache.v.rotate) hadamard(v, dim);
    }
}

bool kv_store(const KvRows& rows) {
    for (const Side& side : sides(rows)) {
        if (side.rows != nullptr && !store_side(rows, side)) return false;
    }
    return true;
}

void kv_overlay(const KvRows& rows) {
    const KvOverlay& overlay = rows.cache.overlay;
    const std::array<Side, 2> both = sides(rows);
    const std::array<f16_bits*, 2> sink = {overlay.sink_k, overlay.sink_v};
    const std::array<f16_bits*, 2> ring = {overlay.ring_k, overlay.ring_v};
    for (size_t i = 0; i < both.size(); ++i) {
        const Side& side = both[i];
        if (side.rows == nullptr) continue;
        for (int64_t cell = rows.first_cell; cell < rows.first_cell + rows.tokens; ++cell) {
            if (side.cache.open != nullptr) copy_row(rows, side, cell, side.cache.open, cell % kKvGroupCells);
            if (cell < overlay.sinks) copy_row(rows, side, cell, sink[i], cell);
            if (overlay.window > 0) copy_row(rows, side, cell, ring[i], cell % overlay.window);
        }
    }
}

}  // namespace octavo::reference
