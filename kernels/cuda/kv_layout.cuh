// Where a cell's values lie, on the device: the addresses of kernels/kv_format.h, and the FP16 copies that a query
// reads instead of the bulk.
#pragma once

#include "kernels/cuda/device.cuh"
#include "kernels/kv_format.h"

namespace octavo::cuda {

// One side of a layer's cache as kernels take it.
struct Side {
    KvFormat format;
    bool rotate;
    bool raw;          // read as it is: has no FP16 copies
    bool per_channel;  // groups of 32 cells
    uint8_t* payload;
    f16_bits* scales;
    int64_t payload_bytes;  // of one head's row, or of one head's group of 32 cells
    int scale_count;        // likewise
    f16_bits* open;
    f16_bits* sink;
    f16_bits* ring;
};

struct Cache {
    Side k, v;
    int kv_heads;
    int head_dim;
    int64_t sinks;
    int64_t window;
    int64_t window_from;
    int64_t masked_first;
    int64_t masked_cells;
};

inline Side device_side(const KvView& view, const KvSide& side, f16_bits* sink, f16_bits* ring) {
    const KvFormatSpec& spec = kv_format_spec(side.format);
    const int64_t row_bytes = kv_payload_bytes_per_row(side.format, view.head_dim);
    const int64_t scale_bytes = kv_scale_bytes_per_row(side.format, view.head_dim);
    Side result;
    result.format = side.format;
    result.rotate = side.rotate;
    result.raw = spec.raw();
    result.per_channel = spec.per_channel();
    result.payload = reinterpret_cast<uint8_t*>(side.payload);
    result.scales = reinterpret_cast<f16_bits*>(side.scales);
    result.payload_bytes = spec.per_channel() ? row_bytes * spec.group_cells : row_bytes;
    result.scale_count = spec.per_channel() ? view.head_dim : static_cast<int>(scale_bytes / 2);
    result.open = side.open;
    result.sink = sink;
    result.ring = ring;
    return result;
}

inline Cache device_cache(const KvView& view) {
    const KvOverlay& overlay = view.overlay;
    return {device_side(view, view.k, overlay.sink_k, overlay.ring_k),
            device_side(view, view.v, overlay.sink_v, overlay.ring_v),
            view.kv_heads,
            view.head_dim,
            overlay.sinks,
            overlay.window,
            overlay.window_from,
            view.masked_first,
            view.masked_cells};
}

// The row of a cell (row formats), or the group that it is in.
__device__ inline int64_t unit_of(const Cache& cache, const Side& side, int64_t cell, int head) {
    return (side.per_channel ? cell / kKvGroupCells : cell) * cache.kv_heads + head;
}

// Whether the query at `position` reads `cell` from its FP16 copy.
__device__ inline bool reads_copy(const Cache& cache, const Side& side, int64_t position, int64_t cell) {
    if (side.raw) return false;
    return cell < cache.sinks || (cell > position - cache.window && cell >= cache.window_from) ||
           (side.per_channel && cell >= (position + 1) / kKvGroupCells * kKvGroupCells);
}

// The FP16 copy of a cell that has one. Cells of the pass itself, from `first_cell` on, come from `fresh`
// [T][kv_heads][head_dim].
__device__ inline const f16_bits* copy_of(const Cache& cache, const Side& side, const f16_bits* fresh,
                                          int64_t first_cell, int64_t cell, int head) {
    const f16_bits* base = side.open;
    int64_t slot = cell % kKvGroupCells;
    if (cell >= first_cell) {
        base = fresh;
        slot = cell - first_cell;
    } else if (cell < cache.sinks) {
        base = side.sink;
        slot = cell;
    } else if (cell >= first_cell - cache.window && cell >= cache.window_from) {
        base = side.ring;
        slot = static_cast<uint32_t>(cell) % static_cast<uint32_t>(cache.window);  // 64 bits would take long
    }
    return base + (slot * cache.kv_heads + head) * cache.head_dim;
}

}  // namespace octavo::cuda
