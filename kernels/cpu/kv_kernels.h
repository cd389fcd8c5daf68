// What attention, kv_basis, kv_store and kv_load hand to the code of one instruction set about the KV cache: raw
// pointers and plain numbers (see the trap note in isa/simd.h). The formats and the rule of which copy is read:
// kernels/kv_format.h.
//
// `width` is head_dim rounded up to kWidthStep floats, the rest zero, so that kernels walk whole vectors.
#pragma once

#include <cstddef>
#include <cstdint>

namespace octavo {

// A multiple of every instruction set's lanes.
inline constexpr int kWidthStep = 16;
constexpr int padded_width(int values) { return (values + kWidthStep - 1) / kWidthStep * kWidthStep; }

// Cells decoded to float32 at a time, so that the tile stays in the L1 cache: as many as a per-channel group has.
inline constexpr int kTileCells = 32;

// The rows of one KV head in one side (K or V) of a cache: the bulk, and the FP16 copies beside it.
struct SideCells {
    int format;  // KvFormat
    int head_dim;
    int width;
    // Bulk. For per-channel formats the strides times 32 lead from group to group.
    const std::byte* payload;  // of cell 0
    const std::byte* scales;
    int64_t payload_bytes;   // of one row
    int64_t payload_stride;  // bytes between two cells
    int64_t scale_stride;    // bytes
    // FP16 copies; raw formats have none.
    bool has_copies;
    bool per_channel;
    int64_t sinks;
    int64_t window;
    int64_t window_from;
    int64_t fresh_cell;         // cells from here on are rows of this pass
    const uint16_t* sink_rows;  // rows lie row_stride values apart, as below
    const uint16_t* ring_rows;  // cell c in slot c mod window
    const uint16_t* open_rows;  // cell c in slot c mod 32
    const float* fresh_rows;    // from fresh_cell on
    int64_t row_stride;
};

// Consecutive rows of one side: of all KV heads in consecutive cells, as they lie in x and in the cache.
struct KvEncodeRows {
    int format;  // KvFormat; not a per-channel one
    bool refined;
    int head_dim;
    int64_t rows;
    const float* x;      // [rows][head_dim]
    std::byte* payload;  // [rows]
    uint16_t* scales;    // [rows]
};

// One head of a group of 32 cells in a per-channel format: the first cells come from the open buffer.
struct KvEncodeGroup {
    int head_dim;
    int open_cells;
    const uint16_t* open;  // of the group's first cell
    const float* fresh;    // of the first cell that is not in the open buffer
    int64_t row_stride;    // values between two cells in both
    std::byte* payload;    // [head_dim][8]
    uint16_t* scales;      // [head_dim]
};

}  // namespace octavo
