// Scores straight from packed tiles. K is an A fragment, cells by dimensions. Codes become numbers with a bias (64 + u,
// or 1024 + u, by the dimension); the block's scale multiplies what a block of 32 dimensions adds up to. What the bias
// adds to the scores is a product of scales and of the queries' sums, which is taken away at the end. Products do not
// care for the order of dimensions: each format has the one that its codes come out in, and the queries follow.
#pragma once

#include "kernels/cuda/attention_packed.cuh"

namespace octavo::cuda {

// Of the dimensions of pair p, see pair_dimension.
__device__ inline constexpr float key_bias(KvFormat f, int p) {
    return f == KvFormat::q8_0 ? 1024 + 128 : (p % 2 == 0 ? 1024 : 64) + (f == KvFormat::q6_0 ? 32 : 8);
}
// What the numbers that products take have to be multiplied by.
constexpr float key_unit(KvFormat f) { return f == KvFormat::q2c ? 1.208f : 1.0f; }
constexpr bool has_key_bias(KvFormat f) { return f == KvFormat::q8_0 || f == KvFormat::q6_0 || f == KvFormat::q4_0; }

// ---- queries ----

// Queries lie in shared memory as K's products want them: q[query][kTilePitch], of every 16 numbers first those that
// lane t has of the lower half of a fragment (2t, 2t + 1), then those of its upper half. Of eight dimensions that
// follow each other, from 8 `eight` on, the two that make pair p (0 to 3) are pair_dimension and that plus pair_step.
template <KvFormat f>
__device__ inline constexpr int pair_step() {
    return f == KvFormat::q4_0 || f == KvFormat::q6_0 ? 4 : f == KvFormat::q8_0 ? 2 : 1;
}
template <KvFormat f>
__device__ inline constexpr int pair_dimension(int p) {
    return pair_step<f>() == 4 ? p : pair_step<f>() == 2 ? p / 2 * 4 + p % 2 : 2 * p;
}
template <KvFormat f>
__device__ inline int pair_place(int eight, int p) {
    if (pair_step<f>() == 4) return eight / 4 * 32 + p / 2 * 16 + p % 2 * 8 + eight % 4 * 2;
    if (f == KvFormat::q8_0 || f == KvFormat::q2c) return eight / 2 * 16 + p % 2 * 8 + (eight % 2 * 2 + p / 2) * 2;
    return 8 * eight + 2 * p;
}
// B fragments of 16 numbers, from place 32 `pair` on, and of the next 16.
__device__ inline void query_fragments(const f16_bits* q, int pair, uint32_t (&b)[4]) {
    const int lane = threadIdx.x % kWarp;
    load_matrices<false>(q + lane % 8 * kTilePitch + 32 * pair + lane / 8 * 8, b);
}

// ---- scores ----

// What the bias adds to the scores, as a B fragment: rows 0 to 7 are the blocks' sums of query times -bias / 1024,
// rows 8 to 15 what FP16 lacks of them.
constexpr float kBiasUnit = 1024;
__device__ inline void bias_fragment(const float* sums, uint32_t (&b)[2]) {  // sums[8 blocks] of query g
    const float2 two = *reinterpret_cast<const float2*>(sums + threadIdx.x % 4 * 2);
    const __half2 high = __floats2half2_rn(two.x, two.y);
    b[0] = half2_bits(high);
    b[1] = pack_f16(two.x - __low2float(high), two.y - __high2float(high));
}

// Of 16 cells, as a C fragment.
template <KvFormat f, int cells>
__device__ inline void row_scores(const uint8_t* tile, int cell0, const f16_bits* q, const uint32_t (&bias)[2],
                                  float (&s)[4]) {
    using Tile = PackedTile<f, cells>;
    const int lane = threadIdx.x % kWarp;
    const int g = lane / 4;
    const int t = lane % 4;
    const SwizzledRow matrix{shared_address(tile) + Tile::row_at(cell0 + lane % 16, lane / 16)};
    const uint8_t* scales_of = tile + Tile::scales_at(cell0 + g);
    const int tops_of = f == KvFormat::q6_0 ? Tile::tops_at(cell0 + g, 0) : 0;
    const int high_tops_of = f == KvFormat::q6_0 ? Tile::tops_at(cell0 + g + 8, 0) : 0;
    const auto word_at = [](const uint8_t* at) { return *reinterpret_cast<const uint32_t*>(at); };
#pragma unroll
    for (int pair = 0; pair < 4; ++pair) {  // of blocks
        const __half2 scales = as_half2(word_at(scales_of + 4 * pair));
        const __half2 high_scales = as_half2(word_at(scales_of + 8 * Tile::kScales + 4 * pair));
        uint32_t words[4];  // of cells g and g + 8, q8_0: 16 dimensions, and the next 16; else a block, and the next
        if constexpr (f != KvFormat::q8_0) load_matrices<false>(matrix(2 * pair), words);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int block = 2 * pair + half;
            uint32_t b[4];
            query_fragments(q, block, b);
            float sums[4];
            if constexpr (f == KvFormat::q8_0) {
                load_matrices<false>(matrix(2 * block), words);
                const auto fragment = [&](int step, uint32_t(&a)[4]) {
                    a[0] = biased_bytes(words[2 * step], 0), a[1] = biased_bytes(words[2 * step + 1], 0);
                    a[2] = biased_bytes(words[2 * step], 1), a[3] = biased_bytes(words[2 * step + 1], 1);
                };
                uint32_t first[4], second[4];
                fragment(0, first);
                fragment(1, second);
                product_f16(sums, first, b[0], b[1]);
                mma_f16(sums, second, b[2], b[3]);
            } else {
                uint32_t low[4], high[4];
                if constexpr (f == KvFormat::q6_0) {
                    const uint8_t* tops = tile + 8 * half + 2 * t;
                    const uint32_t of_low = *reinterpret_cast<const uint16_t*>(tops + (tops_of ^ (16 * pair)));
                    const uint32_t of_high = *reinterpret_cast<const uint16_t*>(tops + (high_tops_of ^ (16 * pair)));
                    biased_six(words[2 * half], __byte_perm(of_low, 0, 0x4140), low);
                    biased_six(words[2 * half + 1], __byte_perm(of_high, 0, 0x4140), high);
                } else {
                    biased_nibbles(words[2 * half], low);
                    biased_nibbles(words[2 * half + 1], high);
                }
                product_f16(sums, {low[0], high[0], low[1], high[1]}, b[0], b[1]);
                mma_f16(sums, {low[2], high[2], low[3], high[3]}, b[2], b[3]);
            }
            const float scale = half == 0 ? __low2float(scales) : __high2float(scales);
            const float high_scale = half == 0 ? __low2float(high_scales) : __high2float(high_scales);
            s[0] = fmaf(scale, sums[0], s[0]);
            s[1] = fmaf(scale, sums[1], s[1]);
            s[2] = fmaf(high_scale, sums[2], s[2]);
            s[3] = fmaf(high_scale, sums[3], s[3]);
        }
    }
    const uint32_t two = word_at(scales_of + 4 * t);  // blocks 2t and 2t + 1
    const uint32_t two_high = word_at(scales_of + 8 * Tile::kScales + 4 * t);
    float added[4];
    product_f16(added, {two, two_high, two, two_high}, bias[0], bias[1]);
#pragma unroll
    for (int i = 0; i < 4; ++i) s[i] = fmaf(kBiasUnit, added[i], s[i]);
}

// Plain numbers; `matrix`: chunk lane / 16 of row lane % 16.
template <bool bf16, class Row>
__device__ inline void plain_scores(const Row& matrix, const f16_bits* q, float (&s)[4]) {
    float sums[2][4] = {};  // two chains of products, half as long
#pragma unroll 4
    for (int pair = 0; pair < 8; ++pair) {
        uint32_t b[4];
        query_fragments(q, pair, b);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            uint32_t keys[4];
            load_matrices<false>(matrix(4 * pair + 2 * i), keys);
            mma_pair<bf16>(sums[i], keys, b[2 * i], b[2 * i + 1]);
        }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) s[i] += sums[0][i] + sums[1][i];
}

// Two bits per channel, 32 cells; the channels' scales go to the queries. The levels are 3 and 10 times the same,
// within 0.05%, of which FP16 has no more than the upper byte: what brings it there is `key_unit`.
__device__ inline void channel_levels(uint32_t first, uint32_t second, uint32_t bytes, unsigned turn, uint32_t& cell,
                                      uint32_t& later) {
    // Of the cell and the one 8 later, the bytes that hold their codes, first channel and second; then the codes as
    // numbers of bytes: FP16 -1.25, -0.375, 0.375, 1.25, and (4) the zero below.
    const uint32_t both = __byte_perm(first, second, bytes);
    const uint32_t codes = pick(__funnelshift_r(both, both, turn), 0x30303030u, 0x04040404u);
    constexpr uint32_t kLevels = 0x3d36b6bdu;
    cell = permute(kLevels, 0, codes);
    later = permute(kLevels, 0, codes >> 16);
}

template <int cells>
__device__ inline void channel_scores(const uint8_t* tile, int cell0, const f16_bits* q, float (&s)[8]) {
    using Tile = PackedTile<KvFormat::q2c, cells>;
    const int lane = threadIdx.x % kWarp;
    const int t = lane % 4;
    const unsigned byte = lane / 4 / 4;
    const uint32_t bytes = byte | (byte + 4) << 4 | (byte + 2) << 8 | (byte + 6) << 12;
    const unsigned turn = 2 * (lane / 4 % 4) - 4;  // modulo 32: brings the code of cell g to bit 4 of its byte
    const int group = cell0 / kKvGroupCells;
    const auto* codes = reinterpret_cast<const uint4*>(tile + Tile::row_at(group, 2 * t));  // of channels 4t, 4t + 1
    const uint8_t* scales = tile + Tile::scales_at(group) + 4 * 2 * t;
#pragma unroll 2
    for (int pair = 0; pair < 8; ++pair) {
        uint32_t b[4];
        query_fragments(q, pair, b);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int step = 2 * pair + i;
            const uint2 scale = *reinterpret_cast<const uint2*>(scales + 16 * 2 * step);
            const uint4 lower = codes[8 * step];
            const uint4 upper = codes[8 * step + 1];
            const uint32_t b0 = half2_bits(__hmul2_rn(as_half2(b[2 * i]), as_half2(scale.x)));
            const uint32_t b1 = half2_bits(__hmul2_rn(as_half2(b[2 * i + 1]), as_half2(scale.y)));
            const auto add = [&](const uint32_t(&words)[4], float(&sums)[4]) {
                uint32_t fragment[4];
                channel_levels(words[0], words[1], bytes, turn, fragment[0], fragment[1]);
                channel_levels(words[2], words[3], bytes, turn, fragment[2], fragment[3]);
                mma_f16(sums, fragment, b0, b1);
            };
            add({lower.x, lower.z, upper.x, upper.z}, *reinterpret_cast<float(*)[4]>(&s[0]));
            add({lower.y, lower.w, upper.y, upper.w}, *reinterpret_cast<float(*)[4]>(&s[4]));
        }
    }
}

// Scores of a lane: of the 16 cells of a warp, or of 32.
constexpr int packed_score_count(KvFormat f) { return f == KvFormat::q2c ? 8 : 4; }

template <KvFormat f, int cells>
__device__ inline void packed_scores(const uint8_t* tile, int cell0, const f16_bits* q, const uint32_t (&bias)[2],
                                     float (&s)[packed_score_count(f)]) {
    if constexpr (is_plain(f)) {
        const int lane = threadIdx.x % kWarp;
        const int at = PackedTile<f, cells>::row_at(cell0 + lane % 16, lane / 16);
        plain_scores<f == KvFormat::bf16>(SwizzledRow{shared_address(tile) + at}, q, s);
    } else if constexpr (f == KvFormat::q2c) {
        channel_scores<cells>(tile, cell0, q, s);
    } else {
        row_scores<f, cells>(tile, cell0, q, bias, s);
    }
}

}  // namespace octavo::cuda
