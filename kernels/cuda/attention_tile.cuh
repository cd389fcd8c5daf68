// Attention of up to eight queries (the query heads of a KV head) over 32 cells at a time, on the tensor cores, for
// rows of 256 values. A warp keeps its queries, its sum of values and its softmax in registers; see kv_fragments.cuh
// for how lanes share the rows.
#pragma once

#include "kernels/cuda/kv_fragments.cuh"

namespace octavo::cuda {

inline constexpr int kTileCells = 32;
inline constexpr int kColumns = 8;  // queries of a warp

// K's pairs of a lane: 32, in 8 units of 8 dimensions. Dimensions of pair `pair` of unit `unit`, for lane t.
template <KvFormat kf>
__device__ inline void pair_dimensions(int unit, int pair, int t, int& first, int& second) {
    const int start = is_plain(kf) ? 32 * unit + 8 * t : 32 * (t + 4 * (unit / 4)) + 8 * (unit % 4);
    if (has_nibble_pairs(kf)) {
        first = start + pair;
        second = first + 4;
    } else {
        first = start + 2 * pair;
        second = first + 1;
    }
}

// First of the eight dimensions of V that unit `unit` (0..3) of lane g has.
template <KvFormat vf>
__device__ inline int value_dimension(int unit, int g) {
    return is_plain(vf) ? 64 * unit + 8 * g : 32 * g + 8 * unit;
}

struct Tile {
    int64_t first_cell;
    uint32_t mask;  // cells to attend; never 0

    // Cells outside the mask are read as one inside it: any row that may be read will do.
    __device__ int64_t cell(int i) const {
        return first_cell + (mask >> i & 1u ? i : __ffs(static_cast<int>(mask)) - 1);
    }
};

// A KV head as a warp reads it.
struct Source {
    const Cache& cache;
    const Side& side;
    const f16_bits* fresh;  // FP16 copies of the pass's own cells
    int64_t first_cell;     // of the pass
    int head;
    const f16_bits* new_row;  // [head_dim] the copy of the pass's only cell; nullptr: see `fresh`

    __device__ const uint8_t* bulk(int64_t cell) const {
        return side.payload + unit_of(cache, side, cell, head) * side.payload_bytes;
    }
    __device__ const f16_bits* scales(int64_t cell) const {
        return side.scales + unit_of(cache, side, cell, head) * side.scale_count;
    }
    __device__ const uint8_t* copy(int64_t cell) const {
        if (new_row != nullptr && cell >= first_cell) return reinterpret_cast<const uint8_t*>(new_row);
        return reinterpret_cast<const uint8_t*>(copy_of(cache, side, fresh, first_cell, cell, head));
    }
    // Of block `block`, twice: one scale a block, or one a row.
    __device__ __half scale(const f16_bits* row_scales, int block) const {
        return __ushort_as_half(__ldg(row_scales + (side.scale_count > 1 ? block : 0)));
    }
};

// ---- scores ----

// One row's part of a lane: two blocks of 32 dimensions (or the like of it, spread).
template <KvFormat f, bool spread>
struct KeyRow {
    uint32_t words[2][words_of_32(f)];
    __half2 scale[2];

    template <bool bulk = true>
    __device__ void load(const uint8_t* row, int t) {
#pragma unroll
        for (int part = 0; part < 2; ++part) {
            if constexpr (spread) {
#pragma unroll
                for (int i = 0; i < 4; ++i) load_16(row + 64 * (4 * part + i) + 16 * t, words[part] + 4 * i);
            } else {
                load_block<f, bulk>(row, t + 4 * part, words[part]);
            }
        }
    }
    __device__ void load_scales(const Source& from, int64_t cell, int t) {
        const f16_bits* scales = from.scales(cell);
#pragma unroll
        for (int part = 0; part < 2; ++part) scale[part] = __half2half2(from.scale(scales, t + 4 * part));
    }
};

template <bool bf16>
__device__ inline void mma_pair(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
#if __CUDA_ARCH__ >= 800
    if constexpr (bf16) {
        mma_bf16(c, a, b0, b1);
        return;
    }
#endif
    mma_f16(c, a, b0, b1);
}

// Adds the products of 16 rows with the queries. `f`: of the rows; `kf`: whose order of pairs the queries have.
template <KvFormat f, KvFormat kf, bool bf16>
__device__ inline void row_scores(const KeyRow<f, is_plain(kf)>& a, const KeyRow<f, is_plain(kf)>& b,
                                  const uint32_t (&q)[8][4], const Tables& tables, float (&s)[4]) {
#pragma unroll
    for (int unit = 0; unit < 8; ++unit) {
        const int part = unit / 4;
        uint32_t low[4], high[4];
        unpack_cell<f>(a.words[part], unit % 4, a.scale[part], tables, low);
        unpack_cell<f>(b.words[part], unit % 4, b.scale[part], tables, high);
        if constexpr (has_nibble_pairs(kf) && !has_nibble_pairs(f)) to_nibble_order(low), to_nibble_order(high);
        if constexpr (!has_nibble_pairs(kf) && has_nibble_pairs(f)) from_nibble_order(low), from_nibble_order(high);
#pragma unroll
        for (int step = 0; step < 2; ++step) {
            const uint32_t fragment[4] = {low[2 * step], high[2 * step], low[2 * step + 1], high[2 * step + 1]};
            mma_pair<bf16>(s, fragment, q[unit][2 * step], q[unit][2 * step + 1]);
        }
    }
}

// s[half][...]: cells 16 half + g and + 8, as a C fragment.
template <KvFormat f, KvFormat kf, bool copies>
__device__ inline void rows_scores(const Source& k, const Tile& tile, const uint32_t (&q)[8][4], bool bf16,
                                   const Tables& tables, float (&s)[2][4]) {
    const int g = threadIdx.x % kWarp / 4;
    const int t = threadIdx.x % 4;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        KeyRow<f, is_plain(kf)> rows[2];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int64_t cell = tile.cell(16 * half + 8 * i + g);
            rows[i].template load<!copies>(copies ? k.copy(cell) : k.bulk(cell), t);
            if constexpr (!is_plain(f)) rows[i].load_scales(k, cell, t);
        }
        if (f == KvFormat::bf16 || (is_plain(f) && bf16)) {
            row_scores<f, kf, true>(rows[0], rows[1], q, tables, s[half]);
        } else {
            row_scores<f, kf, false>(rows[0], rows[1], q, tables, s[half]);
        }
    }
}

// Two bits per channel: the codes of all 32 cells lie together, channel by channel, and the channels' scales go to the
// queries.
template <KvFormat kf>
__device__ inline void channel_scores(const Source& k, const Tile& tile, const uint32_t (&q)[8][4],
                                      const Tables& tables, float (&s)[2][4]) {
    const int shift = 2 * (threadIdx.x % kWarp / 4);
    const int t = threadIdx.x % 4;
    const uint8_t* group = k.bulk(tile.first_cell);
    const f16_bits* scales = k.scales(tile.first_cell);
#pragma unroll
    for (int unit = 0; unit < 8; ++unit) {
        int first, second;
        pair_dimensions<KvFormat::q2c>(unit, 0, t, first, second);
        uint32_t scale[4];
        load_16(reinterpret_cast<const uint8_t*>(scales + first), scale);
        uint32_t fragment[2][2][4];  // [step][half]
#pragma unroll
        for (int pair = 0; pair < 4; ++pair) {
            uint32_t codes[4];  // of two channels: cells 0..15, 16..31, and again
            load_16(group + (first + 2 * pair) * 8, codes);
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const uint32_t a = codes[half] >> shift;
                const uint32_t b = codes[2 + half] >> shift;
                const uint32_t index = (a & 0x00030003u) | (b & 0x00030003u) << 2;
                fragment[pair / 2][half][pair % 2 * 2] = tables.two_bits[index & 15u];
                fragment[pair / 2][half][pair % 2 * 2 + 1] = tables.two_bits[index >> 16];
            }
        }
#pragma unroll
        for (int step = 0; step < 2; ++step) {
            uint32_t scaled_q[2];
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                const int pair = 2 * step + i;
                scaled_q[i] = half2_bits(__hmul2_rn(as_half2(q[unit][pair]), as_half2(scale[pair])));
            }
#pragma unroll
            for (int half = 0; half < 2; ++half) mma_f16(s[half], fragment[step][half], scaled_q[0], scaled_q[1]);
        }
    }
    (void)kf;
}

// ---- values ----

// The part of a lane of one cell's row: 32 dimensions.
template <KvFormat f, bool spread, bool bulk>
__device__ inline void load_value_row(const uint8_t* row, int g, uint32_t (&words)[words_of_32(f)]) {
    if constexpr (spread) {
#pragma unroll
        for (int i = 0; i < 4; ++i) load_16(row + 128 * i + 16 * g, words + 4 * i);
    } else {
        load_block<f, bulk>(row, g, words);
    }
}

// Adds the values of 32 cells, weighted: p[half] are B fragments of the weights, o[unit * 4 + i] C fragments of
// dimensions (2i and 2i + 1 of the unit) by queries.
template <KvFormat f, KvFormat vf, bool copies>
__device__ inline void rows_values(const Source& v, const Tile& tile, const uint32_t (&p)[2][2], bool bf16,
                                   const Tables& tables, float (&o)[16][4]) {
    const int g = threadIdx.x % kWarp / 4;
    const int t = threadIdx.x % 4;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        uint32_t words[4][words_of_32(f)];
        __half scales[4] = {};
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int64_t cell = tile.cell(16 * half + 2 * t + i % 2 + i / 2 * 8);
            load_value_row<f, is_plain(vf), !copies>(copies ? v.copy(cell) : v.bulk(cell), g, words[i]);
            if constexpr (!is_plain(f)) scales[i] = v.scale(v.scales(cell), g);
        }
        const __half2 near = __halves2half2(scales[0], scales[1]);
        const __half2 far = __halves2half2(scales[2], scales[3]);
#pragma unroll
        for (int unit = 0; unit < 4; ++unit) {
            uint32_t a[8], b[8];
            unpack_cells<f>(words[0], words[1], unit, near, tables, a);
            unpack_cells<f>(words[2], words[3], unit, far, tables, b);
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const uint32_t fragment[4] = {a[2 * i], a[2 * i + 1], b[2 * i], b[2 * i + 1]};
                if (f == KvFormat::bf16 || (is_plain(f) && bf16)) {
                    mma_pair<true>(o[unit * 4 + i], fragment, p[half][0], p[half][1]);
                } else {
                    mma_pair<false>(o[unit * 4 + i], fragment, p[half][0], p[half][1]);
                }
            }
        }
    }
}

__device__ inline void channel_values(const Source& v, const Tile& tile, const uint32_t (&p)[2][2],
                                      const Tables& tables, float (&o)[16][4]) {
    const int g = threadIdx.x % kWarp / 4;
    const int shift = 4 * (threadIdx.x % 4);
    const uint8_t* group = v.bulk(tile.first_cell);
    const f16_bits* scales = v.scales(tile.first_cell);
#pragma unroll
    for (int unit = 0; unit < 4; ++unit) {
        const int dimension = 32 * g + 8 * unit;
        uint32_t scale[4];
        load_16(reinterpret_cast<const uint8_t*>(scales + dimension), scale);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            uint32_t codes[4];  // of two channels: cells 0..15, 16..31, and again
            load_16(group + (dimension + 2 * i) * 8, codes);
            const __half2 both = as_half2(scale[i]);
            const __half2 first = __low2half2(both);
            const __half2 second = __high2half2(both);
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const uint32_t a = codes[half] >> shift;
                const uint32_t b = codes[2 + half] >> shift;
                const auto level = [&](uint32_t index, __half2 factor) {
                    return half2_bits(__hmul2_rn(as_half2(tables.two_bits[index & 15u]), factor));
                };
                const uint32_t fragment[4] = {level(a, first), level(b, second), level(a >> 16, first),
                                              level(b >> 16, second)};
                mma_f16(o[unit * 4 + i], fragment, p[half][0], p[half][1]);
            }
        }
    }
}

// ---- one tile ----

// A warp's queries, softmax and sums. Columns 2t and 2t + 1 are this lane's in every C fragment.
struct WarpState {
    uint32_t q[8][4];  // B fragments of [unit][pair], times log2(e) / sqrt(256)
    float o[16][4];
    float largest[2];
    float sum[2];  // this lane's cells only
};

template <KvFormat kf>
__device__ inline void tile_scores(const Source& k, bool copies, const Tile& tile, const uint32_t (&q)[8][4], bool bf16,
                                   const Tables& tables, float (&s)[2][4]) {
    if (copies) {
        if constexpr (!is_plain(kf)) rows_scores<KvFormat::f16, kf, true>(k, tile, q, false, tables, s);
        return;
    }
    if constexpr (kf == KvFormat::q2c) {
        channel_scores<kf>(k, tile, q, tables, s);
    } else if constexpr (kf != kAnyFormat) {
        rows_scores<kf, kf, false>(k, tile, q, bf16, tables, s);
    } else if (k.side.per_channel) {
        channel_scores<kf>(k, tile, q, tables, s);
    } else {
        with_row_format(k.side.format, [&](auto format) {
            rows_scores<decltype(format)::value, kf, false>(k, tile, q, bf16, tables, s);
        });
    }
}

template <KvFormat vf>
__device__ inline void tile_values(const Source& v, bool copies, const Tile& tile, const uint32_t (&p)[2][2], bool bf16,
                                   const Tables& tables, float (&o)[16][4]) {
    if (copies) {
        if constexpr (!is_plain(vf)) rows_values<KvFormat::f16, vf, true>(v, tile, p, false, tables, o);
        return;
    }
    if constexpr (vf == KvFormat::q2c) {
        channel_values(v, tile, p, tables, o);
    } else if constexpr (vf != kAnyFormat) {
        rows_values<vf, vf, false>(v, tile, p, bf16, tables, o);
    } else if (v.side.per_channel) {
        channel_values(v, tile, p, tables, o);
    } else {
        with_row_format(v.side.format, [&](auto format) {
            rows_values<decltype(format)::value, vf, false>(v, tile, p, bf16, tables, o);
        });
    }
}

// The softmax of 16 or 32 more cells: scores become weights, p[half] their B fragments, and what was summed before is
// brought to the new largest score.
template <bool bf16, int halves>
__device__ inline void pack_weights(const float (&s)[halves][4], uint32_t (&p)[halves][2]) {
#pragma unroll
    for (int half = 0; half < halves; ++half) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const float first = s[half][2 * i];
            const float second = s[half][2 * i + 1];
            p[half][i] = transpose_8x8(bf16 ? pack_bf16(first, second) : pack_f16(first, second));
        }
    }
}

template <int halves>
__device__ inline void weigh(float (&s)[halves][4], bool bf16, WarpState& state, uint32_t (&p)[halves][2]) {
    // Weights may be relative to a largest score of before, as long as none becomes larger than FP16 holds well.
    constexpr float kMargin = 8;
    float largest[2] = {state.largest[0], state.largest[1]};
#pragma unroll
    for (int half = 0; half < halves; ++half) {
#pragma unroll
        for (int i = 0; i < 4; ++i) largest[i % 2] = fmaxf(largest[i % 2], s[half][i]);
    }
    // Some cell of the tile is attended, so `largest` is a number from here on (or a score is none at all).
    const bool above = largest[0] > state.largest[0] + kMargin || largest[1] > state.largest[1] + kMargin;
    if (__any_sync(kAllLanes, above)) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
#pragma unroll
            for (int offset = 4; offset < kWarp; offset *= 2) {
                largest[i] = fmaxf(largest[i], __shfl_xor_sync(kAllLanes, largest[i], offset));
            }
            const float factor = exp2f(state.largest[i] - largest[i]);
            state.sum[i] *= factor;
            state.largest[i] = largest[i];
#pragma unroll
            for (int m = 0; m < 16; ++m) state.o[m][i] *= factor, state.o[m][i + 2] *= factor;
        }
    }
#pragma unroll
    for (int half = 0; half < halves; ++half) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            s[half][i] = exp2f(s[half][i] - state.largest[i % 2]);
            state.sum[i % 2] += s[half][i];
        }
    }
    if (bf16) {
        pack_weights<true>(s, p);
    } else {
        pack_weights<false>(s, p);
    }
}

template <KvFormat kf, KvFormat vf>
__device__ inline void attend_tile(const Source& k, const Source& v, bool k_copies, bool v_copies, const Tile& tile,
                                   const Tables& tables, WarpState& state) {
    const bool k_bf16 = kf == KvFormat::bf16 || (kf == kAnyFormat && k.side.format == KvFormat::bf16);
    const bool v_bf16 = vf == KvFormat::bf16 || (vf == kAnyFormat && v.side.format == KvFormat::bf16);
    const int g = threadIdx.x % kWarp / 4;
    float s[2][4] = {};
    tile_scores<kf>(k, k_copies, tile, state.q, k_bf16, tables, s);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            if ((tile.mask >> (16 * half + 8 * (i / 2) + g) & 1u) == 0) s[half][i] = -INFINITY;
        }
    }
    uint32_t p[2][2];
    weigh(s, v_bf16, state, p);
    tile_values<vf>(v, v_copies, tile, p, v_bf16, tables, state.o);
}

}  // namespace octavo::cuda
