#include "kernels/cpu/isa/kv_tile.h"

#include "kernels/cpu/isa/kv_decode.h"
#include "kernels/cpu/isa/tiles.h"

namespace octavo::OCTAVO_ISA {
namespace {

VecF as_f16_holds(VecF x) {
    uint16_t halves[kLanes];
    store_f16(halves, x);
    return load_f16(halves);
}

// A row of this pass as its FP16 copy will hold it.
void round_row(const float* row, int head_dim, int width, float* out) {
    int i = 0;
    for (; i + kLanes <= head_dim; i += kLanes) store(out + i, as_f16_holds(load(row + i)));
    if (i < head_dim) {
        store(out + i, as_f16_holds(load_first(row + i, head_dim - i)));
        i += kLanes;
    }
    for (; i < width; i += kLanes) store(out + i, zero());
}

void widen_row(const uint16_t* halves, int head_dim, int width, float* out) {
    const F16* row = reinterpret_cast<const F16*>(halves);
    int i = 0;
    for (; i + kLanes <= head_dim; i += kLanes) store(out + i, load_values(row + i));
    if (i < head_dim) {
        store(out + i, load_part(row + i, head_dim - i));
        i += kLanes;
    }
    for (; i < width; i += kLanes) store(out + i, zero());
}

void read_copy(const SideCells& side, int64_t cell, float* out) {
    if (cell >= side.fresh_cell) {
        return round_row(side.fresh_rows + (cell - side.fresh_cell) * side.row_stride, side.head_dim, side.width, out);
    }
    const uint16_t* row = nullptr;
    if (cell < side.sinks) {
        row = side.sink_rows + cell * side.row_stride;
    } else if (cell >= side.fresh_cell - side.window && cell >= side.window_from) {
        row = side.ring_rows + cell % side.window * side.row_stride;
    } else {
        row = side.open_rows + cell % kTileCells * side.row_stride;
    }
    widen_row(row, side.head_dim, side.width, out);
}

}  // namespace

CopyRows copy_rows(const SideCells& side, int64_t first_cell, int count, int64_t position) {
    const int64_t end = first_cell + count;
    if (!side.has_copies || end > side.fresh_cell) return {};
    if (end <= side.sinks) return {side.sink_rows + first_cell * side.row_stride, side.row_stride, side.sinks - end};
    const bool in_ring = side.window > 0 && first_cell >= side.sinks && first_cell >= side.window_from &&
                         first_cell >= side.fresh_cell - side.window;
    if (!in_ring || position >= first_cell + side.window) return {};
    const int64_t slot = first_cell % side.window;
    const int64_t in_slots = side.window - slot - count;
    if (in_slots < 0) return {};
    const int64_t in_cells = side.fresh_cell - end;
    return {side.ring_rows + slot * side.row_stride, side.row_stride, in_slots < in_cells ? in_slots : in_cells};
}

void fill_kv_tile(const SideCells& side, int64_t first_cell, int from, int to, int64_t position, float* tile) {
    const DecodeTile decode = kv_decoder(side.format);
    const BulkTile bulk = bulk_tile(side, first_cell);
    if (from < to && reads_only_bulk(side, first_cell + from, to - from, position)) {
        return decode(bulk, from, to, side.head_dim, side.width, tile);
    }
    while (from < to) {
        int end = from;
        while (end < to && position >= copy_read_until(side, first_cell + end)) ++end;
        if (end > from) decode(bulk, from, end, side.head_dim, side.width, tile);
        for (; end < to && position < copy_read_until(side, first_cell + end); ++end) {
            read_copy(side, first_cell + end, tile + end * side.width);
        }
        from = end;
    }
}

}  // namespace octavo::OCTAVO_ISA
