#include "kernels/cpu/isa/kv_direct.h"

#include "kernels/cpu/isa/kv_codes.h"
#include "kernels/cpu/isa/tiles.h"
#include "kernels/cpu/mixer_kernels.h"

namespace octavo::OCTAVO_ISA {
namespace {

// ---- raw rows
// ----------------------------------------------------------------------------------------------------------

template <class T>
const T* raw_rows(const BulkTile& bulk) {
    return reinterpret_cast<const T*>(bulk.payload);
}
template <class T>
int64_t raw_stride(const BulkTile& bulk) {
    return bulk.payload_stride / static_cast<int64_t>(sizeof(T));
}

template <class T>
void score_raw(const BulkTile& k, int cells, int next, const float* q, int rows, int width, float* scores) {
    dot_rows(q, width, rows, raw_rows<T>(k), raw_stride<T>(k), cells, next, width, scores, kPieceCells);
}

template <class T>
void weighed_sum_raw(const BulkTile& v, int cells, int next, const float* weights, int rows, int width, float* out) {
    multiply_rows({weights, kPieceCells, 1}, rows, cells, next, raw_rows<T>(v), raw_stride<T>(v), width, out, width);
}

// ---- rows of codes
// -----------------------------------------------------------------------------------------------------

constexpr int kMaxBlocks = 16;  // of a row

// A tile's rows with their scales widened. A format with one scale a row has it in every block's place.
template <class Format, bool kRowScale>
struct CodedRows {
    const BulkTile& bulk;
    const int dim;
    const int cells;
    const int fetch_end;         // cells from here on have no later row to ask for
    const uint32_t block_bytes;  // of codes
    float scales[kTileCells][kMaxBlocks];

    CodedRows(const BulkTile& tile, int width, int cell_count, int later_cells)
        : bulk(tile),
          dim(width),
          cells(cell_count),
          fetch_end(cell_count + later_cells - kRowsAhead),
          block_bytes(static_cast<uint32_t>(tile.payload_bytes) * kKvBlock / static_cast<uint32_t>(width)) {
        for (int c = 0; c < cells; ++c) {
            const auto* from = reinterpret_cast<const uint16_t*>(bulk.scales + c * bulk.scale_stride);
            widen_scales(from, kRowScale ? 1 : dim / kKvBlock, scales[c]);
        }
        fetch_bytes(bulk.scales + cells * bulk.scale_stride,
                    (later_cells < kTileCells ? later_cells : kTileCells) * bulk.scale_stride);
    }

    const std::byte* row(int cell) const { return bulk.payload + cell * bulk.payload_stride; }
    VecF factor(int cell, int block) const { return Format::factor(set1(scales[cell][kRowScale ? 0 : block])); }

    // Asks for the cache line in which this block's share of a later row begins, once for every line.
    [[gnu::always_inline]] void fetch_ahead(int cell, int block) const {
        const uint32_t at = static_cast<uint32_t>(block) * block_bytes;
        if (cell < fetch_end && at % 64 < block_bytes) fetch_line(row(cell + kRowsAhead) + at);
    }
};

// scores[r][c .. c + 4) for R rows of q.
template <int R, class Rows, class Format>
void score_four(const Rows& k, int c, const float* q, float* scores) {
    int cell[4];
    for (int i = 0; i < 4; ++i) cell[i] = c + i < k.cells ? c + i : k.cells - 1;
    VecF sum[R][4];
    for (int r = 0; r < R; ++r) {
        for (int i = 0; i < 4; ++i) sum[r][i] = zero();
    }
    for (int block = 0; block * kKvBlock < k.dim; ++block) {
        VecF factor[4];
        for (int i = 0; i < 4; ++i) {
            k.fetch_ahead(c + i, block);
            factor[i] = k.factor(cell[i], block);
        }
        for (int d = block * kKvBlock; d < (block + 1) * kKvBlock; d += kLanes) {
            VecF values[4];
            for (int i = 0; i < 4; ++i) values[i] = Format::values(factor[i], k.row(cell[i]), k.dim, d);
            for (int r = 0; r < R; ++r) {
                const VecF x = load(q + r * k.dim + d);
                for (int i = 0; i < 4; ++i) sum[r][i] = fma(x, values[i], sum[r][i]);
            }
        }
    }
    for (int r = 0; r < R; ++r) {
        store_quad(scores + r * kPieceCells + c, reduce_add4(sum[r][0], sum[r][1], sum[r][2], sum[r][3]));
    }
}

// out[r][d .. d + V vectors) for R rows; these columns are whole blocks, or lie in one.
template <int R, int V, class Rows, class Format>
void weigh_columns(const Rows& v, int d, const float* weights, float* out) {
    VecF sum[R][V];
    for (int r = 0; r < R; ++r) {
        for (int i = 0; i < V; ++i) sum[r][i] = load(out + r * v.dim + d + i * kLanes);
    }
    for (int c = 0; c < v.cells; ++c) {
        const std::byte* const row = v.row(c);
        VecF values[V];
        for (int i = 0; i < V; ++i) {
            const int block = d / kKvBlock + i * kLanes / kKvBlock;
            if (i * kLanes % kKvBlock == 0) v.fetch_ahead(c, block);
            values[i] = Format::values(v.factor(c, block), row, v.dim, d + i * kLanes);
        }
        for (int r = 0; r < R; ++r) {
            const VecF weight = set1(weights[r * kPieceCells + c]);
            for (int i = 0; i < V; ++i) sum[r][i] = fma(weight, values[i], sum[r][i]);
        }
    }
    for (int r = 0; r < R; ++r) {
        for (int i = 0; i < V; ++i) store(out + r * v.dim + d + i * kLanes, sum[r][i]);
    }
}

template <int R, class Rows, class Format>
void weigh_rows(const Rows& v, const float* weights, float* out) {
    constexpr int kVectors = kAccumulators / (R == 1 ? 2 : R);
    constexpr int kOneBlock = kKvBlock / kLanes < kVectors ? kKvBlock / kLanes : kVectors;
    int d = 0;
    for (; d + kVectors * kLanes <= v.dim; d += kVectors * kLanes) {
        weigh_columns<R, kVectors, Rows, Format>(v, d, weights, out);
    }
    for (; d < v.dim; d += kOneBlock * kLanes) weigh_columns<R, kOneBlock, Rows, Format>(v, d, weights, out);
}

// Calls use<R>(first row) for R rows at a time.
template <class Use>
void by_rows(int rows, Use use) {
    int r = 0;
    for (; r + kDotRows <= rows; r += kDotRows) use.template operator()<kDotRows>(r);
    for (; r + 2 <= rows; r += 2) use.template operator()<2>(r);
    if (r < rows) use.template operator()<1>(r);
}

template <class Format, bool kRowScale>
void score_coded(const BulkTile& bulk, int cells, int next, const float* q, int rows, int width, float* scores) {
    using Rows = CodedRows<Format, kRowScale>;
    const Rows k(bulk, width, cells, next);
    for (int c = 0; c < cells; c += 4) {
        by_rows(rows,
                [&]<int R>(int r) { score_four<R, Rows, Format>(k, c, q + r * width, scores + r * kPieceCells); });
    }
}

template <class Format, bool kRowScale>
void weighed_sum_coded(const BulkTile& bulk, int cells, int next, const float* weights, int rows, int width,
                       float* out) {
    using Rows = CodedRows<Format, kRowScale>;
    const Rows v(bulk, width, cells, next);
    by_rows(rows, [&]<int R>(int r) { weigh_rows<R, Rows, Format>(v, weights + r * kPieceCells, out + r * width); });
}

// ---- table
// -------------------------------------------------------------------------------------------------------------

template <class T>
constexpr DirectProducts raw() {
    return {score_raw<T>, weighed_sum_raw<T>};
}
template <class Format, bool kRowScale>
constexpr DirectProducts coded() {
    return {score_coded<Format, kRowScale>, weighed_sum_coded<Format, kRowScale>};
}

// In the order of KvFormat.
constexpr DirectProducts kDirect[] = {
    raw<float>(),
    raw<F16>(),
    raw<Bf16>(),
    coded<SignedBytes, false>(),
    coded<E4m3, false>(),
    coded<SixBitPlanes, false>(),
    coded<SignedNibbles, false>(),
    coded<SignedBytes, true>(),
    coded<SixBitTriples, true>(),
    coded<SignedNibbles, true>(),
    {nullptr, nullptr},  // q2c: a tile decodes all channels of a group at once
    coded<LevelPairs, false>(),
    coded<LevelNibbles, false>(),
};

// With more rows it pays to convert once.
constexpr int kDirectRawRows = 4;
constexpr int kDirectCodedRows = kDotRows;

}  // namespace

const DirectProducts* direct_products(const SideCells& side, int rows) {
    if (kDirect[side.format].score == nullptr) return nullptr;
    const bool fits = side.has_copies ? side.head_dim % kKvBlock == 0 && side.head_dim <= kMaxBlocks * kKvBlock
                                      : side.head_dim == side.width;
    return fits && rows <= (side.has_copies ? kDirectCodedRows : kDirectRawRows) ? &kDirect[side.format] : nullptr;
}

const DirectProducts* direct_copy_products(const SideCells& side, int rows) {
    constexpr int kF16 = 1;  // KvFormat::f16
    return side.head_dim == side.width && rows <= kDirectRawRows ? &kDirect[kF16] : nullptr;
}

}  // namespace octavo::OCTAVO_ISA
