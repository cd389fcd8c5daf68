// One piece of attention for a tile of query rows. A tile of cells is multiplied as it lies in the cache (kv_direct.h),
// or made float32 first (kv_tile.h): that is all that depends on the KV format.
#include "kernels/cpu/isa/hadamard.h"
#include "kernels/cpu/isa/kv_direct.h"
#include "kernels/cpu/isa/kv_tile.h"
#include "kernels/cpu/isa/mixers.h"
#include "kernels/cpu/isa/tiles.h"

namespace octavo::OCTAVO_ISA {
namespace {

// The query rows of a piece that see any of its cells, in the order of their positions.
struct Queries {
    const AttentionPiece& piece;
    int first;
    int count;

    int64_t position(int row) const { return piece.first_query + (piece.first_row + row) / piece.group; }
    int64_t first_position() const { return position(first); }
    int64_t last_position() const { return position(piece.rows - 1); }
};

// The cells [0, count) of a tile of one side, as its queries read them: all alike, or, in [mixed_from, mixed_to), the
// first queries of each cell the FP16 copy and the others the bulk.
struct TileCells {
    int64_t first_cell;
    int count;
    int next;  // cells of the piece after these
    int mixed_from;
    int mixed_to;

    bool mixed() const { return mixed_from < mixed_to; }
};

// A tile that can be multiplied as it lies in the bulk, or in one of the copies, since all queries read it there.
struct DirectTile {
    const DirectProducts* products;  // nullptr: decode it first
    BulkTile rows;
    int next;  // cells after these in the same place
};

DirectTile direct_tile(const SideCells& side, const Queries& queries, const TileCells& cells) {
    if (cells.mixed()) return {nullptr, {}, 0};
    if (reads_only_bulk(side, cells.first_cell, cells.count, queries.first_position())) {
        return {direct_products(side, queries.count), bulk_tile(side, cells.first_cell), cells.next};
    }
    const CopyRows copies = copy_rows(side, cells.first_cell, cells.count, queries.last_position());
    if (copies.rows == nullptr) return {nullptr, {}, 0};
    constexpr int64_t kValueBytes = sizeof(uint16_t);
    const BulkTile rows = {reinterpret_cast<const std::byte*>(copies.rows), nullptr, side.head_dim * kValueBytes,
                           copies.stride * kValueBytes, 0};
    const int next = copies.more < cells.next ? static_cast<int>(copies.more) : cells.next;
    return {direct_copy_products(side, queries.count), rows, next};
}

TileCells tile_cells(const SideCells& side, const Queries& queries, int first) {
    const int rest = queries.piece.cells - first;
    const int count = rest < kTileCells ? rest : kTileCells;
    TileCells tile = {queries.piece.first_cell + first, count, rest - count, 0, 0};
    if (!side.has_copies || queries.first_position() == queries.last_position()) return tile;
    for (int c = 0; c < count; ++c) {
        const int64_t until = copy_read_until(side, tile.first_cell + c);
        if (until <= queries.first_position() || until > queries.last_position()) continue;
        if (!tile.mixed()) tile.mixed_from = c;
        tile.mixed_to = c + 1;
    }
    return tile;
}

// Calls use(tile) for the tiles of a piece's cells.
template <class Use>
void for_each_tile(const AttentionPiece& piece, const SideCells& side, const Queries& queries, Use use) {
    for (int first = 0; first < piece.cells; first += kTileCells) use(tile_cells(side, queries, first));
}

// Scores of a tile, written at its columns of scores[rows][kPieceCells].
void score_tile(const Queries& queries, const TileCells& cells, float* tile, float* spare, float* scores) {
    const AttentionPiece& piece = queries.piece;
    const SideCells& k = piece.k;
    const int width = piece.width;
    const float* q = piece.q + queries.first * width;
    const DirectTile direct = direct_tile(k, queries, cells);
    if (direct.products != nullptr) {
        return direct.products->score(direct.rows, cells.count, direct.next, q, queries.count, width, scores);
    }
    const int bulk_end = cells.mixed() ? cells.mixed_to : cells.count;
    fill_kv_tile(k, cells.first_cell, 0, bulk_end, queries.last_position(), tile);
    dot_rows(q, width, queries.count, tile, width, bulk_end, 0, width, scores, kPieceCells);
    if (!cells.mixed()) return;

    const int from = cells.mixed_from;
    fill_kv_tile(k, cells.first_cell, from, cells.count, queries.first_position(), tile);
    dot_rows(q, width, queries.count, tile + from * width, width, cells.count - from, 0, width, spare, kTileCells);
    for (int c = from; c < cells.count; ++c) {
        const int64_t until = copy_read_until(k, cells.first_cell + c);
        for (int r = 0; r < queries.count; ++r) {
            const bool copy = c >= cells.mixed_to || queries.position(queries.first + r) < until;
            if (copy) scores[r * kPieceCells + c] = spare[r * kTileCells + c - from];
        }
    }
}

// Asks for the first bulk rows of a piece, to be read soon.
[[gnu::always_inline]] inline void fetch_first_rows(const AttentionPiece& piece, const SideCells& side) {
    const BulkTile bulk = bulk_tile(side, piece.first_cell);
    for (int c = 0; c < kRowsAhead && c < piece.cells; ++c) {
        fetch_bytes(bulk.payload + c * bulk.payload_stride, side.payload_bytes);
    }
    if (side.scales != nullptr) fetch_bytes(bulk.scales, kTileCells * bulk.scale_stride);
}

// Adds a tile's share of the weighed sum: in the order of the cells for every query, since those that it reads from the
// bulk come before its copies (sinks aside, which all queries read alike).
void weigh_tile(const Queries& queries, const TileCells& cells, float* tile, float* spare, const float* weights,
                float* out) {
    const AttentionPiece& piece = queries.piece;
    const SideCells& v = piece.v;
    const int width = piece.width;
    const int rows = queries.count;
    const DirectTile direct = direct_tile(v, queries, cells);
    if (direct.products != nullptr) {
        return direct.products->weighed_sum(direct.rows, cells.count, direct.next, weights, rows, width, out);
    }
    if (!cells.mixed()) {
        fill_kv_tile(v, cells.first_cell, 0, cells.count, queries.last_position(), tile);
        return multiply_rows({weights, kPieceCells, 1}, rows, cells.count, 0, tile, width, width, out, width);
    }
    // Twice, each time with the weights of the other reading set to 0.
    const auto pass = [&](bool copies, int from, int to) {
        for (int c = from; c < to; ++c) {
            const bool mixed = c >= cells.mixed_from && c < cells.mixed_to;
            const int64_t until = copy_read_until(v, cells.first_cell + c);
            for (int r = 0; r < rows; ++r) {
                const bool reads_copy = queries.position(queries.first + r) < until;
                spare[r * kTileCells + c] = mixed && reads_copy != copies ? 0.0f : weights[r * kPieceCells + c];
            }
        }
        fill_kv_tile(v, cells.first_cell, from, to, copies ? queries.first_position() : queries.last_position(), tile);
        multiply_rows({spare + from, kTileCells, 1}, rows, to - from, 0, tile + from * width, width, width, out, width);
    };
    pass(false, 0, cells.mixed_to);
    pass(true, cells.mixed_from, cells.count);
}

// Cells of a piece that no query sees.
struct MaskedCells {
    int first;
    int end;
};

MaskedCells masked_cells(const AttentionPiece& piece, int visible) {
    const auto within = [&](int64_t cell) {
        cell -= piece.first_cell;
        return static_cast<int>(cell < 0 ? 0 : cell > visible ? visible : cell);
    };
    return {within(piece.masked_first), within(piece.masked_end)};
}

// scores[0 .. cells) become exp(score - max), those masked and those from `visible` on 0.
void softmax_row(float* scores, int visible, MaskedCells masked, int cells, float* max_out, float* sum_out) {
    const int whole = (visible + kLanes - 1) / kLanes * kLanes;
    for (int c = masked.first; c < masked.end; ++c) scores[c] = -__builtin_inff();
    for (int c = visible; c < whole; ++c) scores[c] = scores[0];
    VecF max_lanes = load(scores);
    for (int c = kLanes; c < whole; c += kLanes) max_lanes = max(max_lanes, load(scores + c));
    const float highest = reduce_max(max_lanes);

    for (int c = 0; c < whole; c += kLanes) store(scores + c, exp(sub(load(scores + c), set1(highest))));
    for (int c = masked.first; c < masked.end; ++c) scores[c] = 0;
    for (int c = visible; c < whole || c < cells; ++c) scores[c] = 0;

    VecF sum = zero();
    for (int c = 0; c < whole; c += kLanes) sum = add(sum, load(scores + c));
    *max_out = highest;
    *sum_out = reduce_add(sum);
}

}  // namespace

void attend_piece(const AttentionPiece& piece) {
    float* const scores = piece.scratch;
    float* const spare = scores + kTileRows * kPieceCells;
    float* const tile = spare + kTileRows * kTileCells;
    const AttentionPartial& partial = piece.partial;

    const auto visible_cells = [&](int row) {
        return piece.first_query + (piece.first_row + row) / piece.group + 1 - piece.first_cell;
    };
    int first = 0;
    for (; first < piece.rows && visible_cells(first) <= 0; ++first) partial.sum[first] = 0;
    const Queries queries = {piece, first, piece.rows - first};

    float* const first_scores = scores + first * kPieceCells;
    for_each_tile(piece, piece.k, queries, [&](const TileCells& cells) {
        score_tile(queries, cells, tile, spare, first_scores + (cells.first_cell - piece.first_cell));
    });
    fetch_first_rows(piece, piece.v);
    for (int r = first; r < piece.rows; ++r) {
        const int visible = visible_cells(r) < piece.cells ? static_cast<int>(visible_cells(r)) : piece.cells;
        softmax_row(scores + r * kPieceCells, visible, masked_cells(piece, visible), piece.cells, partial.max + r,
                    partial.sum + r);
    }
    float* const out = partial.out + int64_t{first} * piece.width;
    for (int64_t i = 0; i < int64_t{queries.count} * piece.width; i += kLanes) store(out + i, zero());
    for_each_tile(piece, piece.v, queries, [&](const TileCells& cells) {
        weigh_tile(queries, cells, tile, spare, first_scores + (cells.first_cell - piece.first_cell), out);
    });
}

void merge_attention(int rows, int width, const AttentionPartial& next, const AttentionPartial& total) {
    for (int r = 0; r < rows; ++r) {
        if (next.sum[r] == 0) continue;
        float* const out = total.out + int64_t{r} * width;
        const float* const next_out = next.out + int64_t{r} * width;
        if (total.sum[r] == 0) {
            total.max[r] = next.max[r];
            total.sum[r] = next.sum[r];
            for (int d = 0; d < width; d += kLanes) store(out + d, load(next_out + d));
            continue;
        }
        const float highest = total.max[r] > next.max[r] ? total.max[r] : next.max[r];
        const VecF keep = exp(set1(total.max[r] - highest));
        const VecF take = exp(set1(next.max[r] - highest));
        float sum[kLanes];
        store(sum, fma(set1(next.sum[r]), take, mul(set1(total.sum[r]), keep)));
        total.max[r] = highest;
        total.sum[r] = sum[0];
        for (int d = 0; d < width; d += kLanes) {
            store(out + d, fma(load(next_out + d), take, mul(load(out + d), keep)));
        }
    }
}

void finish_attention(const AttentionFinish& op) {
    const int width = (op.head_dim + kLanes - 1) / kLanes * kLanes;
    for (int i = 0; i < width; i += kLanes) {  // all cells masked: zeros
        store(op.total + i, op.sum == 0 ? zero() : mul(load(op.total + i), set1(1.0f / op.sum)));
    }
    if (op.rotated) rotate_row(op.total, op.head_dim);
    int i = 0;
    for (; i + kLanes <= op.head_dim; i += kLanes) {
        const VecF factor = op.v_scale == nullptr ? set1(1.0f) : load(op.v_scale + i);
        store(op.out + i, mul(mul(load(op.total + i), factor), sigmoid(load(op.gate + i))));
    }
    const int rest = op.head_dim - i;
    if (rest > 0) {
        const VecF factor = op.v_scale == nullptr ? set1(1.0f) : load_part(op.v_scale + i, rest);
        store_first(op.out + i, mul(mul(load(op.total + i), factor), sigmoid(load_part(op.gate + i, rest))), rest);
    }
}

}  // namespace octavo::OCTAVO_ISA
