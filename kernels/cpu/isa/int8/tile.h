// A tile of weights on its way from a file's format to whole-number products: one step of columns (a block of the
// weight type, 32 to 256 of them) of kTileRows rows, with a row in each lane. It lives in the first-level cache.
//
// A weight is scale * (code - zero) - minimum, with unsigned codes, for each stretch of 16 or 32 columns.
#pragma once

#include <cstddef>

#include "kernels/cpu/int8_kernels.h"
#include "kernels/cpu/isa/int8/simd_int.h"

namespace octavo::OCTAVO_ISA {

inline constexpr int kRowVectors = 2;
inline constexpr int kTileRows = kRowVectors * kLanes;
inline constexpr int kMaxStep = 256;

struct Tile {
    VecI codes[kMaxStep / 4][kRowVectors];    // four columns' bytes in each lane
    VecF scales[kMaxStep / 16][kRowVectors];  // of each stretch
    VecF minima[kMaxStep / 16][kRowVectors];  // of each stretch, where the type has them
};

// Unpackers (k_quants.h and others) hand over what they read of kLanes rows to an object with these members: for a
// tile of weights that many tokens will meet, its rows of one vector.
struct TileRows {
    Tile& tile;
    int vector;
    // Columns 4 * index to 4 * index + 3.
    void codes(int index, VecI four_columns) { tile.codes[index][vector] = four_columns; }
    void scale(int stretch, VecF scale) { tile.scales[stretch][vector] = scale; }
    void minimum(int stretch, VecF minimum) { tile.minima[stretch][vector] = minimum; }
};

// What the products need to know of a weight type.
struct TileForm {
    int stretch;  // columns under one scale: 16 or 32
    int zero;     // the code of weight 0; types with minima have none
    bool minima;
    bool wide = false;  // codes may be larger than 128
};

// sums[token][kTileRows] += products of the tile's step with each token's blocks, which start at x[token].
using MultiplyTile = void(const Tile& tile, int zero, int blocks, const Int8Block* const* x, int tokens, float* sums);
MultiplyTile multiply_zero_16, multiply_zero_32, multiply_minima_16, multiply_minima_32, multiply_wide_32;

}  // namespace octavo::OCTAVO_ISA
