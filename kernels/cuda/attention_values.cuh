// Sums of values straight from packed tiles. V is an A fragment, dimensions by cells. Codes of up to six bits become
// BF16 with a bias, and the weights take the scales; a row of ones tells what the bias added. Else, and before 8.0,
// codes are unpacked to FP16 with their scale.
#pragma once

#include "kernels/cuda/attention_packed.cuh"

namespace octavo::cuda {

// Codes as BF16 with a bias, scales in the weights; then fragments 4 and 5 of the sums are what a one would have become
// in either block.
#if __CUDA_ARCH__ >= 800
constexpr bool has_value_bias(KvFormat f) { return f == KvFormat::q6_0 || f == KvFormat::q4_0; }
#else
constexpr bool has_value_bias(KvFormat) { return false; }
#endif
constexpr float value_bias(KvFormat f) { return f == KvFormat::q6_0 ? 160 : 136; }
constexpr int value_fragments(KvFormat f) { return f == KvFormat::q6_0 || f == KvFormat::q4_0 ? 6 : 4; }
constexpr bool has_bf16_weights(KvFormat f) { return f == KvFormat::bf16 || has_value_bias(f); }

template <KvFormat f, int fragments>
__device__ inline void take_bias(float (&o)[fragments][4]) {
    if constexpr (has_value_bias(f)) {
#pragma unroll
        for (int m = 0; m < 4; ++m) {
#pragma unroll
            for (int i = 0; i < 4; ++i) o[m][i] = fmaf(-value_bias(f), o[4 + m / 2][i], o[m][i]);
        }
#pragma unroll
        for (int m = 4; m < fragments; ++m) {
#pragma unroll
            for (int i = 0; i < 4; ++i) o[m][i] = 0;
        }
    }
}

// Dimension of row g (i = 0) or g + 8 (i = 1) of fragment m, of a warp's 64: a permutation of the bits of (m, g, i).
__device__ inline int value_dimension(KvFormat f, int m, int g, int i) {
    if (is_plain(f)) return 16 * m + g + 8 * i;
    if (f == KvFormat::q8_0) return 16 * m + 2 * g + i;
    return 32 * (m / 2) + 4 * g + 2 * (m % 2) + i;
}

// Plain numbers of 16 cells; `weights`: their B fragment. `matrix`: of row plain_row() the chunk that the warp's
// dimensions begin with, or the next one (lane / 8 % 2).
__device__ inline int plain_row() {
    const int lane = threadIdx.x % kWarp;
    return lane / 16 * 8 + lane % 8;
}
template <bool bf16, class Row, int fragments>
__device__ inline void plain_values(const Row& matrix, const uint32_t* weights, float (&o)[fragments][4]) {
#pragma unroll
    for (int m = 0; m < 4; ++m) {
        uint32_t fragment[4];
        load_matrices<true>(matrix(2 * m), fragment);
        mma_pair<bf16>(o[m], fragment, weights[0], weights[1]);
    }
}

// Two F16 numbers as BF16.
__device__ inline __nv_bfloat162 as_bf16(uint32_t pair) {
    const float2 two = __half22float2(as_half2(pair));
    return __floats2bfloat162_rn(two.x, two.y);
}

// Packed rows of 32 cells; `weights`: their two B fragments. The warp's dimensions are blocks 2 warp and 2 warp + 1.
template <KvFormat f, int cells, int fragments>
__device__ inline void row_values(const uint8_t* tile, int cell0, int warp, const uint32_t (&weights)[4],
                                  float (&o)[fragments][4]) {
    using Tile = PackedTile<f, cells>;
    constexpr bool kBiased = has_value_bias(f);
    const int lane = threadIdx.x % kWarp;
    const int g = lane / 4;
    const int t = lane % 4;
    const int row = cell0 + lane;
    uint32_t scales[4];  // of block g, of cells 8m + 2t and one more
    load_matrices<true>(tile + Tile::scales_at(row), scales);
    if constexpr (kBiased) {
#pragma unroll
        for (uint32_t& pair : scales) {
            const __nv_bfloat162 both = as_bf16(pair);
            pair = *reinterpret_cast<const uint32_t*>(&both);
        }
    }
    uint32_t tops[4] = {};
    if constexpr (f == KvFormat::q6_0) load_matrices<true>(tile + Tile::tops_at(row, warp), tops);
    constexpr int kFragments = f == KvFormat::q8_0 ? 1 : 2;  // of 16 dimensions, from an ldmatrix
    const SwizzledRow matrix{shared_address(tile) + Tile::row_at(row, warp * 4 / kFragments)};
#pragma unroll
    for (int part = 0; part < 4 / kFragments; ++part) {
        const int block = part * kFragments / 2;
        uint32_t words[4];
        load_matrices<true>(matrix(part), words);
        uint32_t scale[4];
#pragma unroll
        for (int m = 0; m < 4; ++m) scale[m] = __shfl_sync(kAllLanes, scales[m], 4 * (2 * warp + block) + t);
        uint32_t top[4] = {};  // of dimensions 4g to 4g + 3
        if constexpr (f == KvFormat::q6_0) {
#pragma unroll
            for (int m = 0; m < 4; ++m) {
                top[m] = __shfl_sync(kAllLanes, tops[m], 4 * (4 * block + g / 2) + t) >> (8 * (g % 2));
            }
        }
        uint32_t b[4];
#pragma unroll
        for (int m = 0; m < 4; ++m) {
            b[m] = weights[m];
            if constexpr (kBiased) {
                const __nv_bfloat162 product = __hmul2_rn(*reinterpret_cast<const __nv_bfloat162*>(&weights[m]),
                                                          *reinterpret_cast<const __nv_bfloat162*>(&scale[m]));
                b[m] = *reinterpret_cast<const uint32_t*>(&product);
            }
        }
        const auto number = [&](int m, int j) {
            if constexpr (f == KvFormat::q8_0) {
                return scaled(biased_bytes(words[m], j), 1152.0f, as_half2(scale[m]));
            } else if constexpr (kBiased && f == KvFormat::q6_0) {
                const uint32_t low = pick(words[m] >> (4 * j), 0x000f000fu, 0x43204320u);  // 128 + (code + 32)
                return pick(shifted(top[m], 4 - 2 * j), 0x00300030u, low);
            } else if constexpr (kBiased) {
                return pick(words[m] >> (4 * j), 0x000f000fu, 0x43084308u);  // 128 + (code + 8)
            } else if constexpr (f == KvFormat::q6_0) {
                return six_bits(words[m], j, top[m], j, as_half2(scale[m]));
            } else {
                return four_bits(words[m], j, as_half2(scale[m]));
            }
        };
#pragma unroll
        for (int step = 0; step < 2; ++step) {
#pragma unroll
            for (int i = 0; i < kFragments; ++i) {
                const uint32_t fragment[4] = {number(2 * step, 2 * i), number(2 * step, 2 * i + 1),
                                              number(2 * step + 1, 2 * i), number(2 * step + 1, 2 * i + 1)};
                mma_pair<kBiased>(o[part * kFragments + i], fragment, b[2 * step], b[2 * step + 1]);
            }
            if constexpr (kBiased) {
                constexpr uint32_t kOnes = 0x3f803f80u;
                mma_pair<true>(o[4 + block], {kOnes, kOnes, kOnes, kOnes}, b[2 * step], b[2 * step + 1]);
            }
        }
    }
}

template <KvFormat f, int cells, int fragments>
__device__ inline void packed_values(const uint8_t* tile, int cell0, int warp, const uint32_t (&weights)[4],
                                     float (&o)[fragments][4]) {
    if constexpr (is_plain(f)) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int chunk = 8 * warp + static_cast<int>(threadIdx.x) / 8 % 2;
            const int at = PackedTile<f, cells>::row_at(cell0 + 16 * i + plain_row(), chunk);
            plain_values<f == KvFormat::bf16>(SwizzledRow{shared_address(tile) + at}, weights + 2 * i, o);
        }
    } else {
        row_values<f, cells>(tile, cell0, warp, weights, o);
    }
}

}  // namespace octavo::cuda
