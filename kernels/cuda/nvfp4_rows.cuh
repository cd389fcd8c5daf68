// Products of NVFP4 rows (scales apart) with one to four tokens, on tensor cores that have BF16 (from 8.0 on): 16 rows
// to a warp. A code times its scale is exact in BF16. A token's inputs go in two parts, the second what BF16 leaves of
// them: together they have 16 bits. A block of warps sums a row's columns in a fixed order.
//
// Columns come in chunks of 128. Of a chunk, lane (g = l / 4, t = l % 4) reads 32 codes of the rows g and g + 8, those
// of column 32 t on; the products take columns in the order in which these words are unpacked, and so inputs are
// staged.
#pragma once

#include "kernels/cuda/mma.cuh"
#include "kernels/cuda/weights.cuh"

namespace octavo::cuda::nvfp4 {

inline constexpr int kRows = 16;            // of a block
inline constexpr int kColumns = 128;        // of a chunk
inline constexpr int kChunksAtOnce = 4;     // of a warp
inline constexpr float kDelayed = 0x1p16f;  // what the sums are still to be multiplied with

// Whether these kernels can take the matrix.
inline bool reads(const DeviceMatrix& w) {
    return w.type == WeightType::nvfp4_apart && w.cols % kColumns == 0 && w.wide &&
           reinterpret_cast<uintptr_t>(w.scales) % 2 == 0;
}

struct Chunk {
    uint4 codes[2];      // of the rows g and g + 8
    uint16_t scales[2];  // two each
};

__device__ inline Chunk load_chunk(const DeviceMatrix& w, int64_t first_row, int64_t first_column) {
    const int lane = threadIdx.x % kWarp;
    const int64_t column = first_column + lane % 4 * 32;
    Chunk chunk;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const WeightRow row = weight_row<WeightType::nvfp4_apart>(w, min(first_row + lane / 4 + half * 8, w.rows - 1));
        chunk.codes[half] = __ldg(reinterpret_cast<const uint4*>(row.data + column / 2));
        chunk.scales[half] = __ldg(reinterpret_cast<const uint16_t*>(row.scales + column / 16));
    }
    return chunk;
}

// Eight columns of a token, `group` of the staged ones: [chunk][4][2 tokens][4 lanes].
template <int tokens>
__device__ inline void stage(uint4* staged, int group, int token, const float (&x)[8]) {
    uint4* const to = staged + ((group / 16 * 4 + group % 4) * 2 * tokens + 2 * token) * 4 + group % 16 / 4;
    float rest[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) rest[i] = x[i] - __bfloat162float(__float2bfloat16_rn(x[i]));
    to[0] = {pack_bf16(x[0], x[4]), pack_bf16(x[1], x[5]), pack_bf16(x[2], x[6]), pack_bf16(x[3], x[7])};
    to[4] = {pack_bf16(rest[0], rest[4]), pack_bf16(rest[1], rest[5]), pack_bf16(rest[2], rest[6]),
             pack_bf16(rest[3], rest[7])};
}

// The eight codes of a word with their scale, as BF16 pairs of the values i and i + 4. A code's exponent and mantissa
// at the lower end of BF16's are 2^-126 of it; `scale` has made up for 2^110 of that.
__device__ inline void unpack(uint32_t codes, uint32_t scale, uint32_t (&pairs)[4]) {
    const uint32_t magnitudes[4] = {codes << 6, codes << 2, codes >> 2, codes >> 6};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const uint32_t small = (codes << (12 - 4 * i) & 0x80008000u) | (magnitudes[i] & 0x01c001c0u);
        const __nv_bfloat162 value =
            __hmul2(*reinterpret_cast<const __nv_bfloat162*>(&small), *reinterpret_cast<const __nv_bfloat162*>(&scale));
        pairs[i] = *reinterpret_cast<const uint32_t*>(&value);
    }
}

// Of each tile, sums[0], sums[1] += row g, token t: both parts of its inputs; sums[2], sums[3]: row g + 8.
template <int tokens, int tiles>
__device__ inline void multiply(const Chunk (&chunks)[tiles], const uint4* staged, float (&sums)[tiles][4]) {
#if __CUDA_ARCH__ >= 800
    const int lane = threadIdx.x % kWarp;
    const int part = min(lane / 4, 2 * tokens - 1);  // of the inputs; what is beyond the last is not looked at
    uint32_t scales[tiles][2][2];                    // [tile][half][16 codes]
#pragma unroll
    for (int i = 0; i < 2 * tiles; ++i) {
        const float2 both = floats_of(e4m3_pair(chunks[i / 2].scales[i % 2]));
        scales[i / 2][i % 2][0] = pack_bf16(both.x * 0x1p110f, both.x * 0x1p110f);
        scales[i / 2][i % 2][1] = pack_bf16(both.y * 0x1p110f, both.y * 0x1p110f);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const uint4 x = staged[(i * 2 * tokens + part) * 4 + lane % 4];
        const auto word = [&](const uint4& words) {
            return i == 0 ? words.x : i == 1 ? words.y : i == 2 ? words.z : words.w;
        };
#pragma unroll
        for (int tile = 0; tile < tiles; ++tile) {
            uint32_t low[4], high[4];
            unpack(word(chunks[tile].codes[0]), scales[tile][0][i / 2], low);
            unpack(word(chunks[tile].codes[1]), scales[tile][1][i / 2], high);
            mma_bf16(sums[tile], {low[0], high[0], low[1], high[1]}, x.x, x.y);
            mma_bf16(sums[tile], {low[2], high[2], low[3], high[3]}, x.z, x.w);
        }
    }
#endif
}

template <int warps, int tokens>
struct Staged {
    uint4 inputs[warps * kChunksAtOnce * 32 * tokens];
};

// Adds chunks [0, chunks) to the warp's sums: those that are its turn, of `warps` warps; it is number `warp` of them.
// load(chunk, tile) loads one; inputs(group, token, x) gives eight columns. All threads of the block stage inputs.
template <int warps, int tokens, int tiles, class Load, class Inputs>
__device__ void add_chunks(int chunks, int warp, Staged<warps, tokens>& staged, Load&& load, Inputs&& inputs,
                           float (&sums)[tiles][4]) {
    constexpr int kChunks = warps * kChunksAtOnce;
    constexpr int kGroups = kColumns / 8;  // of a chunk
    for (int first = 0; first < chunks; first += kChunks) {
        Chunk mine[kChunksAtOnce][tiles];
#pragma unroll
        for (int i = 0; i < kChunksAtOnce; ++i) {
            const int chunk = first + i * warps + warp;
#pragma unroll
            for (int tile = 0; tile < tiles; ++tile) {
                if (chunk < chunks) mine[i][tile] = load(chunk, tile);
            }
        }
        if (first > 0) __syncthreads();
        const int groups = min(kChunks, chunks - first) * kGroups;
        for (int i = threadIdx.x; i < groups * tokens; i += blockDim.x) {
            const int token = i / groups;
            float x[8];
            inputs(first * kGroups + i % groups, token, x);
            stage<tokens>(staged.inputs, i % groups, token, x);
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < kChunksAtOnce; ++i) {
            const int at = i * warps + warp;
            if (first + at < chunks) multiply<tokens, tiles>(mine[i], staged.inputs + at * 32 * tokens, sums);
        }
    }
}

// Sums of a block's warps: [warps][kRows][tokens].
template <int tokens>
__device__ inline void keep_sums(const float (&sums)[4], float (*of_warp)[tokens]) {
    const int lane = threadIdx.x % kWarp;
    if (lane % 4 >= tokens) return;
    of_warp[lane / 4][lane % 4] = sums[0] + sums[1];
    of_warp[lane / 4 + 8][lane % 4] = sums[2] + sums[3];
}
template <int warps, int tokens>
__device__ inline float total(const float (*parts)[kRows][tokens], int row, int token) {
    float sum = 0;
#pragma unroll
    for (int warp = 0; warp < warps; ++warp) sum += parts[warp][row][token];
    return sum * kDelayed;
}

}  // namespace octavo::cuda::nvfp4
