// The products of many tokens on the tensor cores, with FP16 factors. A warp has rows of its own and all tokens of the
// block's tile. Its weights come to shared memory as they are, in pieces of their own, and become factors in registers:
// each once for all tokens of the tile. Factors of x come to shared memory for the whole block.
//
// Columns are taken 64 at a time. Lane (g = l / 4, t = l % 4) has of each 32 the columns 8 t to 8 t + 7, of the rows g
// and g + 8 and of token g of every eight: as which inner index of a product they count is the same on both sides.
#pragma once

#include "kernels/cuda/factor_weights.cuh"
#include "kernels/cuda/gemm.cuh"
#include "kernels/cuda/shared_tile.cuh"

namespace octavo::cuda {

// The list entries of a block's tile, its matrix, and where its results go.
struct GemmPart {
    DeviceMatrix w;
    float* y;
    int first;   // entry of the tile's first token
    int tokens;  // of the tile; <= 0: nothing to do
};
__device__ inline GemmPart gemm_part(const Gemm& g, int tile_tokens) {
    const bool second = blockIdx.z == 1;
    const DeviceMatrix& w = second ? g.twin.w : g.w;
    float* const y = second ? g.twin.y : g.y;
    if (g.tiles == nullptr) {
        const int first = static_cast<int>(blockIdx.x) * tile_tokens;
        return {w, y, first, min(tile_tokens, g.tokens - first)};
    }
    const GemmTile tile = g.tiles[blockIdx.x];
    const float* const scales = second ? g.twin.group_scales : g.group_scales;
    return {w.of_group(tile.group, g.group_bytes, scales), y, tile.first, tile.count};
}
__device__ inline int64_t x_row(const Gemm& g, int entry) { return g.x_tokens == nullptr ? entry : g.x_tokens[entry]; }
__device__ inline float* y_row(const Gemm& g, const GemmPart& part, int token) {
    const int entry = part.first + token;
    return part.y + (g.y_tokens == nullptr ? entry : g.y_tokens[entry]) * g.y_stride;
}

// Blocks for groups of few tokens, and of many. kRoom: shared memory that GPUs have which use them (7.5; 8.0 and up).
struct SmallTile {
    static constexpr int kRoom = 64 << 10;
    static constexpr int kWarps = 4, kFragments = 2, kTokens = 32, kStages = 2, kBlocks = 4;
};
struct LargeTile {
    static constexpr int kRoom = 96 << 10;
    static constexpr int kWarps = 4, kFragments = 2, kTokens = 128, kStages = 2, kBlocks = 2;
};

template <class FactorWeights, class Tile>
struct GemmShape {
    using Weights = FactorWeights;
    static constexpr int kStep = 64;  // columns
    static constexpr int kWarpRows = 16 * Tile::kFragments;
    static constexpr int kRows = Tile::kWarps * kWarpRows;
    static constexpr int kThreads = Tile::kWarps * kWarp;
    static constexpr int kAhead = Tile::kStages - 1;  // steps that are asked for before they are needed
    static constexpr int kChunkSteps = Weights::kColumns / kStep;
    static constexpr int kChunks = (kAhead + kChunkSteps - 1) / kChunkSteps + 1;
    static constexpr int kGranules = (Weights::kBytes + 16 - Weights::kAlign + 15) / 16;  // of 16 bytes, of a chunk
    // Lanes of eight rows then meet in few banks.
    static constexpr int kPitch = Weights::kBytes == 2 * Weights::kColumns ? 192 : (kGranules + 1) / 2 * 32;
    static constexpr int kXBytes = Tile::kTokens * kStep * 2;
    static constexpr int kWarpBytes = kChunks * kWarpRows * kPitch;
    static constexpr int kBytes = Tile::kStages * kXBytes + Tile::kWarps * kWarpBytes;
};

// Copies chunks of the warp's rows to shared memory. A lane copies 16 bytes of every second or fourth row; some lanes
// have none to copy: that costs less than to find the place of each copy.
template <class Shape>
class RowCopies {
  public:
    __device__ RowCopies(const DeviceMatrix& w, int64_t first_row)
        : first_(w.data + first_row * w.row_bytes),
          row_bytes_(w.row_bytes),
          rows_(static_cast<int>(min(w.rows - first_row, int64_t{Shape::kWarpRows}))) {
        chunk_bytes_ = Shape::Weights::kBytes;
        if constexpr (Shape::Weights::kType == kOtherTypes) chunk_bytes_ = static_cast<int>(w.row_bytes * 256 / w.cols);
    }

    __device__ int64_t at(int chunk) const { return int64_t{chunk} * chunk_bytes_; }  // bytes of the row before it

    __device__ void start(int chunk, unsigned char* to) const {
        const int lane = static_cast<int>(threadIdx.x) % kWarp;
        const int first = lane / kLanes;
        const int offset = lane % kLanes * 16;
        const int bytes = static_cast<int>(min(int64_t{chunk_bytes_}, row_bytes_ - at(chunk)));
        auto from = reinterpret_cast<uintptr_t>(first_ + at(chunk) + first * row_bytes_ + offset);
        to += first * Shape::kPitch + offset;
#pragma unroll
        for (int row = 0; row < Shape::kWarpRows; row += kRowsAtOnce, from += kRowsAtOnce * row_bytes_) {
            const int past = Shape::Weights::kAlign == 16 ? 0 : static_cast<int>(from % 16);
            if (first + row < rows_ && offset < past + bytes)
                copy_16(to + row * Shape::kPitch, reinterpret_cast<const void*>(from / 16 * 16));
        }
    }
    __device__ static unsigned misaligned(const unsigned char* at) {
        return static_cast<unsigned>(reinterpret_cast<uintptr_t>(at)) % 16;
    }

  private:
    static constexpr int kLanes = Shape::kGranules <= 8 ? 8 : 16;  // to a row
    static constexpr int kRowsAtOnce = kWarp / kLanes;
    static_assert(Shape::kGranules <= kLanes);

    const unsigned char* first_;
    int64_t row_bytes_;
    int rows_;  // that are there
    int chunk_bytes_;
};

// sums += of 32 columns, of all groups of eight tokens below `groups`. factors: of the rows g and g + 8.
template <int fragments, int kGroups>
__device__ inline void multiply_32(const unsigned char* x, const uint4 (&factors)[fragments][2], int groups,
                                   float (&sums)[fragments][kGroups][4]) {
    constexpr int kTogether = kGroups < 8 ? kGroups : 8;
#pragma unroll
    for (int n = 0; n < kGroups; n += kTogether) {
        if (n >= groups) break;
        uint4 b[kTogether];
#pragma unroll
        for (int i = 0; i < kTogether; ++i) b[i] = *reinterpret_cast<const uint4*>(x + (n + i) * 8 * 128);
#pragma unroll
        for (int m = 0; m < fragments; ++m) {
            const uint4& low = factors[m][0];
            const uint4& high = factors[m][1];
#pragma unroll
            for (int i = 0; i < kTogether; ++i) mma_f16(sums[m][n + i], {low.x, high.x, low.y, high.y}, b[i].x, b[i].y);
#pragma unroll
            for (int i = 0; i < kTogether; ++i) mma_f16(sums[m][n + i], {low.z, high.z, low.w, high.w}, b[i].z, b[i].w);
        }
    }
}

template <class Weights, class Tile>
__global__ void __launch_bounds__(Tile::kWarps* kWarp, Tile::kBlocks) tensor_kernel(Gemm g) {
    using Shape = GemmShape<Weights, Tile>;
    extern __shared__ __align__(128) unsigned char memory[];
    const GemmPart part = gemm_part(g, Tile::kTokens);
    if (part.tokens <= 0) return;
    const DeviceMatrix& w = part.w;
    const int warp = threadIdx.x / kWarp;
    const int lane = threadIdx.x % kWarp;
    const int64_t first_row = int64_t{blockIdx.y} * Shape::kRows + warp * Shape::kWarpRows;
    const int64_t some_row = min(first_row, w.rows - 1);
    unsigned char* const rows = memory + Tile::kStages * Shape::kXBytes + warp * Shape::kWarpBytes;
    const RowCopies<Shape> copies(w, some_row);

    // A thread copies eight columns of some tokens. Of odd ones the halves of a row change places: lanes of two rows
    // then read all banks.
    constexpr int kTurns = Tile::kTokens * 8 / Shape::kThreads;
    const int x_token = threadIdx.x / 8;
    const int x_column = threadIdx.x % 8 * 8;
    const int x_to = x_token * 128 + ((threadIdx.x % 8) ^ (x_token % 2 * 4)) * 16;
    const uint16_t* x[kTurns];
#pragma unroll
    for (int i = 0; i < kTurns; ++i) {
        const int entry = part.first + min(x_token + i * (Shape::kThreads / 8), part.tokens - 1);
        x[i] = g.factors.values + x_row(g, entry) * factor_stride(w.cols) + x_column;
    }
    const int cols = static_cast<int>(w.cols);
    const auto load = [&](int step) {
        const int k = step * Shape::kStep;
        if (k < cols) {
            unsigned char* const to = memory + step % Tile::kStages * Shape::kXBytes + x_to;
            const bool there = k + x_column < cols;
            const int from = there ? k : 0;
#pragma unroll
            for (int i = 0; i < kTurns; ++i) copy_16_or_zero(to + i * (Shape::kThreads / 8) * 128, x[i] + from, there);
            if (step % Shape::kChunkSteps == 0) {
                const int chunk = step / Shape::kChunkSteps;
                copies.start(chunk, rows + chunk % Shape::kChunks * (Shape::kWarpRows * Shape::kPitch));
            }
        }
        end_copies();
    };

    constexpr int kGroups = Tile::kTokens / 8;
    const int groups = ceil_div(part.tokens, 8);
    const int row = lane / 4;
    const int column = lane % 4 * 8;
    WeightRow mine[Tile::kFragments][2];
#pragma unroll
    for (int i = 0; i < 2 * Tile::kFragments; ++i)
        mine[i / 2][i % 2] = weight_row<Weights::kType>(w, min(some_row + row + 8 * i, w.rows - 1));
    float sums[Tile::kFragments][kGroups][4] = {};
    const int steps = ceil_div(cols, Shape::kStep);
#pragma unroll
    for (int i = 0; i < Shape::kAhead; ++i) load(i);
    for (int step = 0; step < steps; ++step) {
        wait_copies<Shape::kAhead - 1>();
        __syncthreads();
        load(step + Shape::kAhead);
        const int chunk = step / Shape::kChunkSteps;
        const unsigned char* const chunk_rows = rows + chunk % Shape::kChunks * (Shape::kWarpRows * Shape::kPitch);
        uint4 factors[2][Tile::kFragments][2];  // [32 columns][16 rows][8 rows]
#pragma unroll
        for (int i = 0; i < 2 * Tile::kFragments; ++i) {
            const WeightRow& of_row = mine[i / 2][i % 2];
            const unsigned before =
                Weights::kAlign == 16 ? 0 : RowCopies<Shape>::misaligned(of_row.data + copies.at(chunk));
            uint4 both[2];
            Weights::eights(
                {w, chunk_rows + (row + 8 * i) * Shape::kPitch + before, of_row, int64_t{chunk} * Weights::kColumns},
                step % Shape::kChunkSteps * Shape::kStep + column, both);
            factors[0][i / 2][i % 2] = both[0], factors[1][i / 2][i % 2] = both[1];
        }
        if ((step + 1) * Shape::kStep > cols) {  // behind the last column lies anything
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                if (step * Shape::kStep + 32 * half + column < cols) continue;
#pragma unroll
                for (auto& of_fragment : factors[half]) of_fragment[0] = of_fragment[1] = {};
            }
        }
        const unsigned char* const tile = memory + step % Tile::kStages * Shape::kXBytes + row * 128;
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            multiply_32(tile + ((lane % 4 + 4 * half) ^ (row % 2 * 4)) * 16, factors[half], groups, sums);
        }
    }
#pragma unroll
    for (int n = 0; n < kGroups; ++n) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int token = n * 8 + lane % 4 * 2 + i;
            if (token >= part.tokens) continue;
            const float scale = w.scale * g.factors.scales[x_row(g, part.first + token)];
            float* const y = y_row(g, part, token);
#pragma unroll
            for (int half = 0; half < 2 * Tile::kFragments; ++half) {
                const int64_t at = first_row + row + half * 8;
                if (at >= w.rows) continue;
                y[at] = (g.accumulate ? y[at] : 0.0f) + scale * sums[half / 2][n][i + half % 2 * 2];
            }
        }
    }
}

template <class Weights, class Tile>
void launch_tensor(const Gemm& gemm, cudaStream_t stream) {
    using Shape = GemmShape<Weights, Tile>;
    const int tiles = gemm.tiles != nullptr ? gemm.most_tiles : ceil_div(gemm.tokens, Tile::kTokens);
    const dim3 grid(static_cast<unsigned>(tiles), static_cast<unsigned>(ceil_div<int64_t>(gemm.w.rows, Shape::kRows)),
                    gemm.twin.y != nullptr ? 2 : 1);
    tensor_kernel<Weights, Tile><<<grid, Shape::kThreads, Shape::kBytes, stream>>>(gemm);
}
template <class Weights, class Tile>
void allow_tensor() {
    static_assert(GemmShape<Weights, Tile>::kBytes <= Tile::kRoom);
    (void)cudaFuncSetAttribute(tensor_kernel<Weights, Tile>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               GemmShape<Weights, Tile>::kBytes);
}

}  // namespace octavo::cuda
