// The bulk of a KV cache as float32, for every format: bit for bit what the codecs decode (kernels/kv_codec.h).
#pragma once

#include "kernels/cpu/kv_kernels.h"

namespace octavo::OCTAVO_ISA {

// The bulk rows of kTileCells cells from a multiple of kTileCells on.
struct BulkTile {
    const std::byte* payload;
    const std::byte* scales;
    int64_t payload_bytes;   // of a row
    int64_t payload_stride;  // bytes between two cells
    int64_t scale_stride;
};
inline BulkTile bulk_tile(const SideCells& side, int64_t first_cell) {
    const std::byte* scales = side.scales == nullptr ? nullptr : side.scales + first_cell * side.scale_stride;
    return {side.payload + first_cell * side.payload_stride, scales, side.payload_bytes, side.payload_stride,
            side.scale_stride};
}

// Rows [from, to) of tile[kTileCells][width], zero beyond head_dim.
using DecodeTile = void (*)(const BulkTile& bulk, int from, int to, int head_dim, int width, float* tile);
DecodeTile kv_decoder(int format);  // KvFormat

}  // namespace octavo::OCTAVO_ISA
