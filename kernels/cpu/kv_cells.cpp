#include "kernels/cpu/kv_cells.h"

namespace octavo {
namespace {

template <class T>
const T* of_head(const T* rows, const KvView& cache, int kv_head) {
    return rows == nullptr ? nullptr : rows + int64_t{kv_head} * cache.head_dim;
}

SideCells side_cells(const KvView& cache, const KvSide& side, const f16_bits* sinks, const f16_bits* ring, int kv_head,
                     int64_t fresh_cell, const float* fresh) {
    const KvFormatSpec& spec = kv_format_spec(side.format);
    const int64_t payload_bytes = kv_payload_bytes_per_row(side.format, cache.head_dim);
    return {
        .format = static_cast<int>(side.format),
        .head_dim = cache.head_dim,
        .width = padded_width(cache.head_dim),
        .payload = kv_payload_at(cache, side, 0, kv_head),
        .scales = reinterpret_cast<const std::byte*>(kv_scales_at(cache, side, 0, kv_head)),
        .payload_bytes = payload_bytes,
        .payload_stride = payload_bytes * cache.kv_heads,
        .scale_stride = kv_scale_bytes_per_row(side.format, cache.head_dim) * cache.kv_heads,
        .has_copies = !spec.raw(),
        .per_channel = spec.per_channel(),
        .sinks = cache.overlay.sinks,
        .window = cache.overlay.window,
        .window_from = cache.overlay.window_from,
        .fresh_cell = fresh_cell,
        .sink_rows = of_head(sinks, cache, kv_head),
        .ring_rows = of_head(ring, cache, kv_head),
        .open_rows = of_head(static_cast<const f16_bits*>(side.open), cache, kv_head),
        .fresh_rows = of_head(fresh, cache, kv_head),
        .row_stride = int64_t{cache.kv_heads} * cache.head_dim,
    };
}

}  // namespace

SideCells k_cells(const KvView& cache, int kv_head, int64_t fresh_cell, const float* fresh) {
    return side_cells(cache, cache.k, cache.overlay.sink_k, cache.overlay.ring_k, kv_head, fresh_cell, fresh);
}

SideCells v_cells(const KvView& cache, int kv_head, int64_t fresh_cell, const float* fresh) {
    return side_cells(cache, cache.v, cache.overlay.sink_v, cache.overlay.ring_v, kv_head, fresh_cell, fresh);
}

}  // namespace octavo
