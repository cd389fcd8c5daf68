// One piece of attention for a tile of query rows. What depends on the KV format is in the table `kSides`: how rows
// become float32, and for the raw formats products that load them as they are. The rest is the same for all formats.
#include "kernels/cpu/isa/mixers.h"
#include "kernels/cpu/isa/tiles.h"

namespace octavo::OCTAVO_ISA {
namespace {

// `next`: cells after these that will be read soon.
// scores[r][c] = q[r] . k[c]; scores are [rows][kPieceCells].
using Score = void (*)(const SideRows& k, int cells, int next, const float* q, int rows, int width, float* scores);
// out[r] += sum over the cells of weights[r][c] * v[c]; weights are [rows][kPieceCells], out [rows][width].
using WeighedSum = void (*)(const SideRows& v, int cells, int next, const float* weights, int rows, int width,
                            float* out);
// The rows as float32: tile[cells][width], zero beyond head_dim.
using Decode = void (*)(const SideRows& rows, int cells, int head_dim, int width, float* tile);

struct SideKernels {
    Decode decode;
    Score score;  // reads whole vectors: head_dim must equal width. nullptr: decode first
    WeighedSum weighed_sum;
};

template <class T>
const T* raw_rows(const SideRows& rows) {
    return reinterpret_cast<const T*>(rows.payload);
}
template <class T>
int64_t raw_stride(const SideRows& rows) {
    return rows.payload_stride / static_cast<int64_t>(sizeof(T));
}

template <class T>
void score_raw(const SideRows& k, int cells, int next, const float* q, int rows, int width, float* scores) {
    dot_rows(q, width, rows, raw_rows<T>(k), raw_stride<T>(k), cells, next, width, scores, kPieceCells);
}

template <class T>
void weighed_sum_raw(const SideRows& v, int cells, int next, const float* weights, int rows, int width, float* out) {
    multiply_rows({weights, kPieceCells, 1}, rows, cells, next, raw_rows<T>(v), raw_stride<T>(v), width, out, width);
}

template <class T>
void decode_raw(const SideRows& rows, int cells, int head_dim, int width, float* tile) {
    for (int c = 0; c < cells; ++c, tile += width) {
        const T* row = raw_rows<T>(rows) + c * raw_stride<T>(rows);
        int d = 0;
        for (; d + kLanes <= head_dim; d += kLanes) store(tile + d, load_values(row + d));
        if (d < head_dim) {
            store(tile + d, load_part(row + d, head_dim - d));
            d += kLanes;
        }
        for (; d < width; d += kLanes) store(tile + d, zero());
    }
}

template <class T>
constexpr SideKernels raw_side() {
    return {decode_raw<T>, score_raw<T>, weighed_sum_raw<T>};
}

// In the order of KvFormat.
constexpr SideKernels kSides[] = {raw_side<float>(), raw_side<F16>(), raw_side<Bf16>()};

// A few rows read the cache as it is; with more of them it pays to convert once.
constexpr int kDirectRows = 4;

SideRows from_cell(const SideRows& rows, int cell) {
    SideRows later = rows;
    later.payload += cell * rows.payload_stride;
    if (later.scales != nullptr) later.scales += cell * rows.scale_stride;
    return later;
}

// Asks for the payload of some rows, to be read soon.
void fetch_rows(const SideRows& rows, int first, int count) {
    for (int c = first; c < first + count; ++c) {
        const std::byte* row = rows.payload + c * rows.payload_stride;
        for (int64_t i = 0; i < rows.payload_bytes; i += 64) __builtin_prefetch(row + i, 0, 3);
    }
}

// Calls use(first, count, cells that follow, rows of these cells, their kernels) for tiles of a side's cells.
template <class Use>
void for_each_tile(const AttentionPiece& piece, int format, const SideRows& side, int rows, float* tile, Use use) {
    const SideKernels& kernels = kSides[format];
    const bool direct = kernels.score != nullptr && rows <= kDirectRows && piece.head_dim == piece.width;
    const SideRows decoded = {reinterpret_cast<const std::byte*>(tile), nullptr,
                              piece.width * static_cast<int64_t>(sizeof(float)),
                              piece.width * static_cast<int64_t>(sizeof(float)), 0};
    for (int first = 0; first < piece.cells; first += kTileCells) {
        const int count = piece.cells - first < kTileCells ? piece.cells - first : kTileCells;
        const SideRows source = from_cell(side, first);
        if (direct) {
            use(first, count, piece.cells - first - count, source, kernels);
        } else {
            kernels.decode(source, count, piece.head_dim, piece.width, tile);
            use(first, count, 0, decoded, kSides[0]);
        }
    }
}

// scores[0 .. cells) become exp(score - max), those from `visible` on 0.
void softmax_row(float* scores, int visible, int cells, float* max_out, float* sum_out) {
    const int whole = (visible + kLanes - 1) / kLanes * kLanes;
    for (int c = visible; c < whole; ++c) scores[c] = scores[0];
    VecF max_lanes = load(scores);
    for (int c = kLanes; c < whole; c += kLanes) max_lanes = max(max_lanes, load(scores + c));
    const float highest = reduce_max(max_lanes);

    for (int c = 0; c < whole; c += kLanes) store(scores + c, exp(sub(load(scores + c), set1(highest))));
    for (int c = visible; c < whole || c < cells; ++c) scores[c] = 0;

    VecF sum = zero();
    for (int c = 0; c < whole; c += kLanes) sum = add(sum, load(scores + c));
    *max_out = highest;
    *sum_out = reduce_add(sum);
}

}  // namespace

void attend_piece(const AttentionPiece& piece) {
    float* const scores = piece.scratch;
    float* const tile = piece.scratch + kTileRows * kPieceCells;
    const int width = piece.width;
    const AttentionPartial& partial = piece.partial;

    // Rows come in the order of their positions: those before `first` end before this piece.
    const auto visible_cells = [&](int row) {
        return piece.first_query + (piece.first_row + row) / piece.group + 1 - piece.first_cell;
    };
    int first = 0;
    for (; first < piece.rows && visible_cells(first) <= 0; ++first) partial.sum[first] = 0;
    const int rows = piece.rows - first;

    for_each_tile(piece, piece.k_format, piece.k, rows, tile,
                  [&](int cell, int count, int next, const SideRows& k, const SideKernels& kernels) {
                      kernels.score(k, count, next, piece.q + first * width, rows, width,
                                    scores + first * kPieceCells + cell);
                  });
    fetch_rows(piece.v, 0, kRowsAhead < piece.cells ? kRowsAhead : piece.cells);
    for (int r = first; r < piece.rows; ++r) {
        const int64_t visible = visible_cells(r);
        softmax_row(scores + r * kPieceCells, visible < piece.cells ? static_cast<int>(visible) : piece.cells,
                    piece.cells, partial.max + r, partial.sum + r);
    }
    float* const out = partial.out + int64_t{first} * width;
    for (int64_t i = 0; i < int64_t{rows} * width; i += kLanes) store(out + i, zero());
    for_each_tile(piece, piece.v_format, piece.v, rows, tile,
                  [&](int cell, int count, int next, const SideRows& v, const SideKernels& kernels) {
                      kernels.weighed_sum(v, count, next, scores + first * kPieceCells + cell, rows, width, out);
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

void finish_attention(const float* total, float sum, const float* gate, int head_dim, float* out) {
    const VecF scale = set1(1.0f / sum);
    int d = 0;
    for (; d + kLanes <= head_dim; d += kLanes) {
        store(out + d, mul(mul(load(total + d), scale), sigmoid(load(gate + d))));
    }
    if (d < head_dim) {
        const VecF gated = mul(mul(load(total + d), scale), sigmoid(load_part(gate + d, head_dim - d)));
        store_first(out + d, gated, head_dim - d);
    }
}

}  // namespace octavo::OCTAVO_ISA
