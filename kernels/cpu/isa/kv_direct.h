// Products of a few float32 rows with rows of the cache as they lie there, a tile of up to kTileCells cells at a time:
// nothing is written in between. The same bits as decoding first (kv_decode.h) and then multiplying (tiles.h).
#pragma once

#include "kernels/cpu/isa/kv_decode.h"

namespace octavo::OCTAVO_ISA {

// `next`: cells after these that will be read soon.
struct DirectProducts {
    // scores[r][c] = q[r] . k[c]; q is [rows][width], scores are [rows][kPieceCells]. Writes whole groups of four
    // cells.
    void (*score)(const BulkTile& k, int cells, int next, const float* q, int rows, int width, float* scores);
    // out[r] += sum over the cells of weights[r][c] * v[c]; weights are [rows][kPieceCells], out [rows][width].
    void (*weighed_sum)(const BulkTile& v, int cells, int next, const float* weights, int rows, int width, float* out);
};

// nullptr where it pays to decode first, or must be done. `rows` is how many rows will be multiplied.
const DirectProducts* direct_products(const SideCells& side, int rows);
// The same for FP16 copies.
const DirectProducts* direct_copy_products(const SideCells& side, int rows);

}  // namespace octavo::OCTAVO_ISA
