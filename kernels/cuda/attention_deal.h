// How decode attention divides a sequence between splits: tiles of its bulk, which are streamed, and pieces of what
// there is besides.
#pragma once

#include <algorithm>

namespace octavo::cuda {

// Tiles, or pieces, [first, end).
struct TileRange {
    int first, end;
};

// The tiles of the bulk that a split takes. They are dealt out in rounds, one to each split, so that all blocks
// together read the cache from its front to its end. Splits that have a piece more than others sit out the first
// rounds.
struct Deal {
    int first, first_step;  // tile and step of the first rounds
    int later, later_step;  // of the others
    int first_count;
    int count;  // of all rounds

    constexpr int tile(int i) const {
        return i < first_count ? first + i * first_step : later + (i - first_count) * later_step;
    }
};

struct Share {
    Deal bulk;
    TileRange others;
};

// Of `tiles` that are dealt out to `places`, how many come to `place`.
constexpr int dealt(int tiles, int places, int place) { return (tiles - place + places - 1) / places; }

// A piece takes as long as `piece_tiles` streamed tiles. Few splits are used where there is little to do: less than
// `least_tiles` to each.
constexpr Share share_of(int split, int pieces, TileRange bulk, int most_splits, int least_tiles, int piece_tiles) {
    const int streamed = bulk.end - bulk.first;
    const int splits = std::max(1, std::min(most_splits, streamed / least_tiles + pieces));
    if (split >= splits) return {};
    const int each = pieces / splits;
    const int more = pieces % splits;  // the first splits have one piece more than the rest
    const int fewer = splits - more;
    const int first_tiles = std::min(streamed, piece_tiles * fewer);
    const int first_count = split < more ? 0 : dealt(first_tiles, fewer, split - more);
    const int later_count = dealt(streamed - first_tiles, splits, split);
    const int first_piece = split * each + std::min(split, more);
    return {{bulk.first + split - more, fewer, bulk.first + first_tiles + split, splits, first_count,
             first_count + later_count},
            {first_piece, first_piece + each + (split < more ? 1 : 0)}};
}

}  // namespace octavo::cuda
