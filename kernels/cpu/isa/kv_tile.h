// Rows of the KV cache as float32 tiles, and the rule of which copy of a cell is read (KvOverlay in
// kernels/kv_format.h).
#pragma once

#include "kernels/cpu/kv_kernels.h"

namespace octavo::OCTAVO_ISA {

// Queries at positions below this read the FP16 copy of the cell, those from it on the bulk. Beyond the sinks it never
// falls from one cell to the next.
inline int64_t copy_read_until(const SideCells& side, int64_t cell) {
    if (!side.has_copies) return 0;
    if (cell < side.sinks) return INT64_MAX;
    const int64_t in_window = side.window > 0 && cell >= side.window_from ? cell + side.window : 0;
    const int64_t in_open_group = side.per_channel ? (cell / kTileCells + 1) * kTileCells - 1 : 0;
    return in_window > in_open_group ? in_window : in_open_group;
}

// True when the query at `position` reads all of these cells from the bulk.
inline bool reads_only_bulk(const SideCells& side, int64_t first_cell, int count, int64_t position) {
    return !side.has_copies || (first_cell >= side.sinks && position >= copy_read_until(side, first_cell + count - 1));
}

// Where these cells' FP16 copies lie as rows of one array, when the queries up to `position` read all of them there and
// none is of this pass.
struct CopyRows {
    const uint16_t* rows;  // nullptr: not so
    int64_t stride;        // values
    int64_t more;          // cells after these whose copies follow on theirs
};
CopyRows copy_rows(const SideCells& side, int64_t first_cell, int count, int64_t position);

// Rows [from, to) of tile[kTileCells][width] become the cells first_cell + from ... as the query at `position` reads
// them, zero beyond head_dim. first_cell is a multiple of kTileCells.
void fill_kv_tile(const SideCells& side, int64_t first_cell, int from, int to, int64_t position, float* tile);

}  // namespace octavo::OCTAVO_ISA
