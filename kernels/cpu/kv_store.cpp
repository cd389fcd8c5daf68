// New keys and values: into the cache's basis, into the bulk, into the FP16 copies; and cells read back.
#include <algorithm>
#include <array>
#include <atomic>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/kv_cells.h"

namespace octavo {
namespace {

constexpr int kCellsPerTask = 32;

int tasks_of(int64_t items, int64_t per_task) { return static_cast<int>((items + per_task - 1) / per_task); }

// One side of the rows: where they come from and where they go.
struct Side {
    const KvSide& cache;
    float* rows;  // [T][kv_heads][head_dim]; nullptr: left alone
    f16_bits* sinks;
    f16_bits* ring;
};

std::array<Side, 2> sides(const KvRows& rows) {
    const KvOverlay& overlay = rows.cache.overlay;
    return {Side{rows.cache.k, rows.k, overlay.sink_k, overlay.ring_k},
            Side{rows.cache.v, rows.v, overlay.sink_v, overlay.ring_v}};
}

int64_t cell_floats(const KvRows& rows) { return int64_t{rows.cache.kv_heads} * rows.cache.head_dim; }

const float* new_cell(const KvRows& rows, const Side& side, int64_t cell) {
    return side.rows + (cell - rows.first_cell) * cell_floats(rows);
}

// Rows [first, first + count) of the pass, of all heads.
bool store_cells(const IsaKernels& isa, const KvRows& rows, const Side& side, int first, int count) {
    return isa.encode_kv_rows({
        .format = static_cast<int>(side.cache.format),
        .refined = rows.cache.encoder == KvEncoder::refined,
        .head_dim = rows.cache.head_dim,
        .rows = int64_t{count} * rows.cache.kv_heads,
        .x = side.rows + first * cell_floats(rows),
        .payload = kv_payload_at(rows.cache, side.cache, rows.first_cell + first, 0),
        .scales = kv_scales_at(rows.cache, side.cache, rows.first_cell + first, 0),
    });
}

// One head of the group that begins at `cell`: what came before this pass is in the open buffer.
bool store_group(const IsaKernels& isa, const KvRows& rows, const Side& side, int64_t cell, int head) {
    const int64_t open_cells = std::max<int64_t>(0, rows.first_cell - cell);
    const int64_t of_head = int64_t{head} * rows.cache.head_dim;
    return isa.encode_kv_group({
        .head_dim = rows.cache.head_dim,
        .open_cells = static_cast<int>(open_cells),
        .open = side.cache.open + of_head,
        .fresh = new_cell(rows, side, cell + open_cells) + of_head,
        .row_stride = cell_floats(rows),
        .payload = kv_payload_at(rows.cache, side.cache, cell, head),
        .scales = kv_scales_at(rows.cache, side.cache, cell, head),
    });
}

}  // namespace

void CpuBackend::kv_basis(const KvRows& rows, float* q, int heads) {
    const KvView& cache = rows.cache;
    const int dim = cache.head_dim;
    const auto rotate = [&](float* x, int64_t count) {
        for_each_row(count, dim, [&](int64_t row) { isa_.rotate_row(x + row * dim, dim); });
    };
    const int64_t kv_rows = int64_t{rows.tokens} * cache.kv_heads;
    if (cache.k.rotate && q != nullptr) rotate(q, int64_t{rows.tokens} * heads);
    if (cache.k.rotate && rows.k != nullptr) rotate(rows.k, kv_rows);
    if (rows.v == nullptr || (!cache.v.rotate && cache.v_scale == nullptr)) return;
    for_each_row(kv_rows, dim, [&](int64_t row) {
        float* const v = rows.v + row * dim;
        if (cache.v_scale != nullptr) isa_.divide_row(v, cache.v_scale + row % cache.kv_heads * dim, dim);
        if (cache.v.rotate) isa_.rotate_row(v, dim);
    });
}

bool CpuBackend::kv_store(const KvRows& rows) {
    const int64_t floats = rows.tokens * cell_floats(rows);
    std::atomic<bool> good{true};
    const auto check = [&](bool stored) {
        if (!stored) good.store(false, std::memory_order_relaxed);
    };
    for (const Side& side : sides(rows)) {
        if (side.rows == nullptr) continue;
        if (!kv_format_spec(side.cache.format).per_channel()) {
            run(tasks_of(rows.tokens, kCellsPerTask), floats, [&](int task, int) {
                const int first = task * kCellsPerTask;
                check(store_cells(isa_, rows, side, first, std::min(kCellsPerTask, rows.tokens - first)));
            });
            continue;
        }
        const int64_t first_group = rows.first_cell / kKvGroupCells;
        const int64_t groups = (rows.first_cell + rows.tokens) / kKvGroupCells - first_group;
        run(static_cast<int>(groups) * rows.cache.kv_heads, groups * kKvGroupCells * cell_floats(rows),
            [&](int task, int) {
                const int64_t group = first_group + task / rows.cache.kv_heads;
                check(store_group(isa_, rows, side, group * kKvGroupCells, task % rows.cache.kv_heads));
            });
    }
    return good.load();
}

void CpuBackend::kv_overlay(const KvRows& rows) {
    const KvOverlay& overlay = rows.cache.overlay;
    const int64_t end = rows.first_cell + rows.tokens;
    const int floats = static_cast<int>(cell_floats(rows));
    for (const Side& side : sides(rows)) {
        if (side.rows == nullptr) continue;
        const auto copy = [&](int64_t first, int64_t last, f16_bits* to, int64_t slots) {
            for (int64_t cell = std::max(first, rows.first_cell); cell < last; ++cell) {
                isa_.round_row(new_cell(rows, side, cell), floats, to + cell % slots * floats);
            }
        };
        // Only what no later cell of the pass overwrites.
        if (side.cache.open != nullptr) copy(end - kKvGroupCells, end, side.cache.open, kKvGroupCells);
        if (overlay.sinks > 0) copy(0, std::min(end, overlay.sinks), side.sinks, overlay.sinks);
        if (overlay.window > 0) copy(end - overlay.window, end, side.ring, overlay.window);
    }
}

void CpuBackend::kv_load(const KvRows& rows, int64_t position) {
    const KvView& cache = rows.cache;
    const int64_t first_tile = rows.first_cell / kTileCells;
    const int64_t end = rows.first_cell + rows.tokens;
    const int tiles = tasks_of(end, kTileCells) - static_cast<int>(first_tile);
    run(tiles * cache.kv_heads, rows.tokens * cell_floats(rows), [&](int task, int worker) {
        const int head = task % cache.kv_heads;
        const int64_t cell = (first_tile + task / cache.kv_heads) * kTileCells;
        const int from = static_cast<int>(std::max(rows.first_cell, cell) - cell);
        const int to = static_cast<int>(std::min<int64_t>(end - cell, kTileCells));
        float* const tile = task_scratch(worker);
        const auto load = [&](const SideCells& side, float* out) {
            if (out == nullptr) return;
            isa_.fill_kv_tile(side, cell, from, to, position, tile);
            for (int c = from; c < to; ++c) {
                std::copy_n(tile + c * side.width, cache.head_dim,
                            out + ((cell + c - rows.first_cell) * cache.kv_heads + head) * cache.head_dim);
            }
        };
        load(k_cells(cache, head, position + 1, nullptr), rows.k);
        load(v_cells(cache, head, position + 1, nullptr), rows.v);
    });
}

}  // namespace octavo
