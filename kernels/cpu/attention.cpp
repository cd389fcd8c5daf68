// Attention in tasks: query rows in tiles, cells in pieces. Many tiles: each task walks all pieces of one tile. Few (a
// decode step): every piece is a task of its own, and the partial results, kept in the shared scratch, are merged
// afterwards in the order of the cells. Both give the same bits.
#include <algorithm>
#include <cassert>
#include <cmath>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/kv_cells.h"

namespace octavo {
namespace {

// Tasks for each thread, so that an unlucky thread does not leave the others waiting for long.
constexpr int kTilesPerThread = 4;

// The arrays of one task, carved from a worker's scratch.
struct TaskScratch {
    float* q;
    AttentionPartial total;
    AttentionPartial piece;
    float* kernel;
};

TaskScratch carve(float* scratch, int width) {
    const int64_t tile = int64_t{kTileRows} * width;
    TaskScratch s;
    s.q = scratch;
    s.total = {scratch + tile, scratch + tile + kTileRows, scratch + tile + 2 * kTileRows};
    s.piece = {s.total.out + tile, s.total.out + tile + kTileRows, s.total.out + tile + 2 * kTileRows};
    s.kernel = s.piece.out + tile;
    return s;
}

constexpr int64_t task_scratch_floats(int width) {
    return 3 * int64_t{kTileRows} * width + 4 * kTileRows + attention_scratch_floats(width);
}

// One operation seen as rows: row r of a KV head is the query of token r / group, head kv_head * group + r % group.
struct Rows {
    const Attention& op;
    const int group = op.heads / op.cache.kv_heads;
    const int head_dim = op.cache.head_dim;
    const int width = padded_width(head_dim);
    const int64_t count = int64_t{op.tokens} * group;  // per KV head
    const int tiles = static_cast<int>((count + kTileRows - 1) / kTileRows);
    const float scale = 1.0f / std::sqrt(static_cast<float>(head_dim));

    // Max, sum and output of every row of every KV head; rows are whole cache lines apart.
    int64_t partial_floats() const { return padded_width(static_cast<int>(count) * op.cache.kv_heads * (width + 2)); }
    int in_tile(int tile) const {
        return static_cast<int>(std::min<int64_t>(kTileRows, count - int64_t{tile} * kTileRows));
    }
    int64_t head_of(int64_t row, int kv_head) const { return row / group * op.heads + kv_head * group + row % group; }
    // Cells that the last row of the tile sees.
    int64_t cells_of(int tile) const {
        return op.first_cell + (int64_t{tile} * kTileRows + in_tile(tile) - 1) / group + 1;
    }

    void load_queries(int tile, int kv_head, float* q) const {
        for (int r = 0; r < in_tile(tile); ++r, q += width) {
            const float* from = op.q + head_of(int64_t{tile} * kTileRows + r, kv_head) * head_dim;
            for (int d = 0; d < head_dim; ++d) q[d] = from[d] * scale;
            std::fill(q + head_dim, q + width, 0.0f);
        }
    }

    AttentionPiece piece(int tile, int kv_head, int64_t index, const float* q, const AttentionPartial& partial,
                         float* scratch) const {
        const KvView& cache = op.cache;
        const int64_t first_cell = index * kPieceCells;
        return {
            .head_dim = head_dim,
            .width = width,
            .rows = in_tile(tile),
            .q = q,
            .first_cell = first_cell,
            .cells = static_cast<int>(std::min<int64_t>(kPieceCells, cells_of(tile) - first_cell)),
            .group = group,
            .first_row = int64_t{tile} * kTileRows,
            .first_query = op.first_cell,
            .masked_first = cache.masked_first,
            .masked_end = cache.masked_first + cache.masked_cells,
            .k = k_cells(cache, kv_head, op.first_cell, op.k_new),
            .v = v_cells(cache, kv_head, op.first_cell, op.v_new),
            .scratch = scratch,
            .partial = partial,
        };
    }

    void finish(const IsaKernels& isa, int64_t row, int kv_head, float* total, float sum) const {
        const int64_t head = head_of(row, kv_head);
        const float* v_scale = op.cache.v_scale;
        isa.finish_attention({
            .head_dim = head_dim,
            .sum = sum,
            .rotated = op.cache.v.rotate,
            .total = total,
            .v_scale = v_scale == nullptr ? nullptr : v_scale + int64_t{kv_head} * head_dim,
            .gate = op.q_gate + head * 2 * head_dim + head_dim,
            .out = op.out + head * head_dim,
        });
    }
};

int64_t pieces_of(int64_t cells) { return (cells + kPieceCells - 1) / kPieceCells; }

AttentionPartial from_row(const AttentionPartial& partial, int64_t row, int width) {
    return {partial.max + row, partial.sum + row, partial.out + row * width};
}

}  // namespace

void CpuBackend::attention(const Attention& op) {
    const Rows rows{op};
    assert(task_scratch_floats(rows.width) <= kWorkerScratchFloats);
    // Partial results that the shared scratch holds: one running total and as many pieces as fit.
    const int64_t partial_bytes = rows.partial_floats() * static_cast<int64_t>(sizeof(float));
    const int64_t partials = partial_bytes == 0 ? 0 : kSharedScratchBytes / partial_bytes;
    const bool many_tiles = rows.tiles * op.cache.kv_heads >= kTilesPerThread * pool_.threads();
    if (many_tiles || partials < 2) {
        attention_by_tiles(op);
    } else {
        attention_by_pieces(op, partials - 1);
    }
}

void CpuBackend::attention_by_tiles(const Attention& op) {
    const Rows rows{op};
    const int kv_heads = op.cache.kv_heads;
    pool_.run(rows.tiles * kv_heads, [&](int task, int worker) {
        const int tile = rows.tiles - 1 - task / kv_heads;  // the last tiles see the most cells: they start first
        const int kv_head = task % kv_heads;
        const TaskScratch scratch = carve(task_scratch(worker), rows.width);
        rows.load_queries(tile, kv_head, scratch.q);
        const int count = rows.in_tile(tile);
        std::fill_n(scratch.total.sum, count, 0.0f);
        for (int64_t index = 0; index < pieces_of(rows.cells_of(tile)); ++index) {
            isa_.attend_piece(rows.piece(tile, kv_head, index, scratch.q, scratch.piece, scratch.kernel));
            isa_.merge_attention(count, rows.width, scratch.piece, scratch.total);
        }
        for (int r = 0; r < count; ++r) {
            rows.finish(isa_, int64_t{tile} * kTileRows + r, kv_head, scratch.total.out + int64_t{r} * rows.width,
                        scratch.total.sum[r]);
        }
    });
}

void CpuBackend::attention_by_pieces(const Attention& op, int64_t pieces_at_once) {
    const Rows rows{op};
    const int kv_heads = op.cache.kv_heads;
    const int64_t all_rows = rows.count * kv_heads;
    const int64_t pieces = pieces_of(op.first_cell + op.tokens);

    // Slot 0 is the running total, slot i + 1 the i-th piece of a round; rows are [kv_heads][count].
    const auto partial = [&](int64_t slot) {
        float* const data = reinterpret_cast<float*>(shared_scratch()) + slot * rows.partial_floats();
        return AttentionPartial{data, data + all_rows, data + 2 * all_rows};
    };
    std::fill_n(partial(0).sum, all_rows, 0.0f);
    for (int64_t first = 0; first < pieces; first += pieces_at_once) {
        const int64_t round = std::min(pieces_at_once, pieces - first);
        const auto attend = [&](int slot, int tile, int kv_head, int worker) {
            const int64_t row = kv_head * rows.count + int64_t{tile} * kTileRows;
            const AttentionPartial out = from_row(partial(slot + 1), row, rows.width);
            if ((first + slot) * kPieceCells >= rows.cells_of(tile)) {
                std::fill_n(out.sum, rows.in_tile(tile), 0.0f);
                return;
            }
            const TaskScratch scratch = carve(task_scratch(worker), rows.width);
            rows.load_queries(tile, kv_head, scratch.q);
            isa_.attend_piece(rows.piece(tile, kv_head, first + slot, scratch.q, out, scratch.kernel));
        };
        // The rows of all KV heads lie side by side: where there are tasks enough, one task reads them all.
        const int tiles = static_cast<int>(round) * rows.tiles;
        const int heads_per_task = tiles >= kTilesPerThread * pool_.threads() ? kv_heads : 1;
        pool_.run(tiles * (kv_heads / heads_per_task), [&](int task, int worker) {
            const int tile = task * heads_per_task / kv_heads;
            for (int i = 0; i < heads_per_task; ++i) {
                attend(tile / rows.tiles, tile % rows.tiles, task * heads_per_task % kv_heads + i, worker);
            }
        });
        pool_.run(static_cast<int>(all_rows), [&](int row, int) {
            const AttentionPartial total = from_row(partial(0), row, rows.width);
            for (int64_t slot = 1; slot <= round; ++slot) {
                isa_.merge_attention(1, rows.width, from_row(partial(slot), row, rows.width), total);
            }
            if (first + round == pieces) {
                rows.finish(isa_, row % rows.count, static_cast<int>(row / rows.count), total.out, *total.sum);
            }
        });
    }
}

}  // namespace octavo
