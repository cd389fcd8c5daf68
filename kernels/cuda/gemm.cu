#include "kernels/cuda/gemm.cuh"

#include "kernels/cuda/mma.cuh"
#include "kernels/cuda/shared_tile.cuh"

namespace octavo::cuda {
namespace {

// The list entries of a block's group, and its matrix.
struct Part {
    DeviceMatrix w;
    int first;   // entry of the tile's first token
    int tokens;  // of the tile; <= 0: nothing to do
};

__device__ Part part_of(const Gemm& g, int tile) {
    const int group = blockIdx.z;
    const int begin = g.starts == nullptr ? 0 : g.starts[group];
    const int end = g.starts == nullptr ? g.tokens : g.starts[group + 1];
    const int first = begin + static_cast<int>(blockIdx.y) * tile;
    return {g.w.of_group(group, g.group_bytes, g.group_scales), first, min(tile, end - first)};
}

__device__ const float* x_row(const Gemm& g, int entry) {
    return g.x + (g.x_tokens == nullptr ? entry : g.x_tokens[entry]) * g.x_stride;
}
__device__ float* y_row(const Gemm& g, int entry) {
    return g.y + (g.y_tokens == nullptr ? entry : g.y_tokens[entry]) * g.y_stride;
}

// ---- float32: 256 threads, each 4 rows x 4 tokens ----

constexpr int kTile = 64;   // rows, and tokens, of a block's result
constexpr int kDepth = 16;  // columns at a time
constexpr int kPitch = kTile + 4;

template <WeightType type>
__device__ void float32_tile(const Gemm& g, const Part& part, float (*ws)[kPitch], float (*xs)[kPitch]) {
    const int64_t first_row = int64_t{blockIdx.x} * kTile;
    const int thread = threadIdx.x;
    const int at = thread / 4;  // row or token that this thread loads, four columns of it
    const int columns = thread % 4 * 4;
    const int tr = thread / 16 * 4;  // its results
    const int tt = thread % 16 * 4;
    const bool row_there = first_row + at < g.w.rows;
    const WeightRow w_row = weight_row<type>(part.w, row_there ? first_row + at : 0);
    const float* x = x_row(g, part.first + (at < part.tokens ? at : 0));
    float sums[4][4] = {};
    for (int64_t k = 0; k < g.w.cols; k += kDepth) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int64_t column = k + columns + i;
            const bool there = column < g.w.cols;
            ws[columns + i][at] = there && row_there ? weight_at<type>(part.w, w_row, column) : 0.0f;
            xs[columns + i][at] = there && at < part.tokens ? x[column] : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int d = 0; d < kDepth; ++d) {
            const float4 a = *reinterpret_cast<const float4*>(&ws[d][tr]);
            const float4 b = *reinterpret_cast<const float4*>(&xs[d][tt]);
            const float w[4] = {a.x, a.y, a.z, a.w};
            const float v[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
            for (int t = 0; t < 4; ++t) {
#pragma unroll
                for (int r = 0; r < 4; ++r) sums[t][r] = fmaf(w[r], v[t], sums[t][r]);
            }
        }
        __syncthreads();
    }
    for (int t = 0; t < 4 && tt + t < part.tokens; ++t) {
        float* y = y_row(g, part.first + tt + t) + first_row + tr;
        for (int r = 0; r < 4 && first_row + tr + r < g.w.rows; ++r) {
            y[r] = (g.accumulate ? y[r] : 0.0f) + part.w.scale * sums[t][r];
        }
    }
}

__global__ void __launch_bounds__(256) float32_kernel(Gemm g) {
    __shared__ __align__(16) float ws[kDepth][kPitch];
    __shared__ __align__(16) float xs[kDepth][kPitch];
    const Part part = part_of(g, kTile);
    if (part.tokens <= 0) return;
    with_weight_type<WeightTypes::all>(g.w.type,
                                       [&](auto type) { float32_tile<decltype(type)::value>(g, part, ws, xs); });
}

// ---- tensor cores: 128 rows by `token_tile` tokens, eight warps with 32 tokens each ----

constexpr int kRowTile = 128;
constexpr int kThreads = 256;
constexpr int kStep = 32;              // columns at a time
constexpr int kPitchOf16 = kStep + 8;  // 16-bit values; no two rows of a fragment meet in a bank
constexpr int kStages = 3;

template <int token_tile>
struct Tiles {
    __align__(16) uint16_t w[kStages][kRowTile][kPitchOf16];
    __align__(16) uint16_t x[kStages][token_tile][kPitchOf16];
};

// Eight values as four pairs of 16-bit numbers.
__device__ uint4 pack8(const float (&v)[8]) {
    return {pack_factors(v[0], v[1]), pack_factors(v[2], v[3]), pack_factors(v[4], v[5]), pack_factors(v[6], v[7])};
}

// The weights of columns [k, k + kStep), as factors; a thread takes eight columns of two rows.
template <WeightTypes types>
__device__ inline void load_weights(const DeviceMatrix& w, int64_t first_row, int64_t k, uint16_t (*tile)[kPitchOf16]) {
    const int column = threadIdx.x % 4 * 8;
    const bool as_it_is = w.type == kFactorType && w.wide;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const int row = static_cast<int>(threadIdx.x) / 4 + i * 64;
        uint16_t* const to = &tile[row][column];
        const int64_t from = min(first_row + row, w.rows - 1);
        if (as_it_is) {
            copy_16_or_zero(to, w.data + from * w.row_bytes + (k + column) * 2, k + column < w.cols);
        } else if (k + column < w.cols) {
            float values[8];
            with_weight_type<types>(w.type, [&](auto type) {
                weights_at<decltype(type)::value>(w, weight_row<decltype(type)::value>(w, from), k + column, values);
            });
            *reinterpret_cast<uint4*>(to) = pack8(values);
        } else {
            *reinterpret_cast<uint4*>(to) = {};
        }
    }
}

template <WeightTypes types, int token_tile>
__global__ void __launch_bounds__(kThreads, 2) tensor_kernel(Gemm g) {
    extern __shared__ __align__(16) unsigned char memory[];
    auto& tiles = *reinterpret_cast<Tiles<token_tile>*>(memory);
    constexpr int kWarpsOfTokens = token_tile / 32;
    constexpr int kWarpRows = kRowTile * kWarpsOfTokens / 8;  // of a warp
    constexpr int kRowFragments = kWarpRows / 16;
    const Part part = part_of(g, token_tile);
    if (part.tokens <= 0) return;
    const int64_t first_row = int64_t{blockIdx.x} * kRowTile;
    const int warp = threadIdx.x / kWarp;
    const int lane = threadIdx.x % kWarp;
    const int row0 = warp / kWarpsOfTokens * kWarpRows;
    const int token0 = warp % kWarpsOfTokens * 32;

    // Each thread copies eight columns of these tokens.
    constexpr int kTokensAtOnce = kThreads / 4;
    constexpr int kTokenTurns = (token_tile + kTokensAtOnce - 1) / kTokensAtOnce;
    const uint16_t* x[kTokenTurns];
#pragma unroll
    for (int i = 0; i < kTokenTurns; ++i) {
        const int token = static_cast<int>(threadIdx.x) / 4 + i * kTokensAtOnce;
        const int entry = part.first + min(token, part.tokens - 1);
        x[i] = g.factors + (g.x_tokens == nullptr ? entry : g.x_tokens[entry]) * g.factor_stride + threadIdx.x % 4 * 8;
    }
    const auto load = [&](int step) {
        const int stage = step % kStages;
        const int64_t k = int64_t{step} * kStep;
        if (k < g.w.cols) {
            load_weights<types>(part.w, first_row, k, tiles.w[stage]);
#pragma unroll
            for (int i = 0; i < kTokenTurns; ++i) {
                const int token = static_cast<int>(threadIdx.x) / 4 + i * kTokensAtOnce;
                const int column = threadIdx.x % 4 * 8;
                if (token < token_tile)
                    copy_16_or_zero(&tiles.x[stage][token][column], x[i] + k, k + column < g.w.cols);
            }
        }
        end_copies();
    };

    float sums[kRowFragments][4][4] = {};
    const int steps = static_cast<int>(ceil_div<int64_t>(g.w.cols, kStep));
#pragma unroll
    for (int i = 0; i < kStages - 1; ++i) load(i);
    for (int step = 0; step < steps; ++step) {
        wait_copies<kStages - 2>();
        __syncthreads();
        load(step + kStages - 1);
        const int stage = step % kStages;
#pragma unroll
        for (int d = 0; d < kStep; d += 16) {
            uint32_t b[2][4];  // of two times eight tokens
#pragma unroll
            for (int n = 0; n < 2; ++n) {
                load_matrices<false>(&tiles.x[stage][token0 + 16 * n + lane / 16 * 8 + lane % 8][d + lane / 8 % 2 * 8],
                                     b[n]);
            }
#pragma unroll
            for (int m = 0; m < kRowFragments; ++m) {
                uint32_t a[4];
                load_matrices<false>(&tiles.w[stage][row0 + 16 * m + lane % 16][d + lane / 16 * 8], a);
#pragma unroll
                for (int n = 0; n < 4; ++n) mma_factors(sums[m][n], a, b[n / 2][n % 2 * 2], b[n / 2][n % 2 * 2 + 1]);
            }
        }
    }
#pragma unroll
    for (int n = 0; n < 4; ++n) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int token = token0 + n * 8 + lane % 4 * 2 + i;
            if (token >= part.tokens) continue;
            float* y = y_row(g, part.first + token);
#pragma unroll
            for (int m = 0; m < kRowFragments; ++m) {
#pragma unroll
                for (int half = 0; half < 2; ++half) {
                    const int64_t row = first_row + row0 + m * 16 + lane / 4 + half * 8;
                    if (row >= g.w.rows) continue;
                    y[row] = (g.accumulate ? y[row] : 0.0f) + part.w.scale * sums[m][n][i + 2 * half];
                }
            }
        }
    }
}

__global__ void factors_kernel(const float* x, int64_t rows, int64_t cols, int64_t stride, uint16_t* to) {
    const int64_t eights = ceil_div<int64_t>(cols, 8);
    const int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (at >= rows * eights) return;
    const int64_t column = at % eights * 8;
    const float* from = x + at / eights * stride + column;
    float values[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) values[i] = column + i < cols ? from[i] : 0.0f;
    reinterpret_cast<uint4*>(to)[at] = pack8(values);
}

template <WeightTypes types, int token_tile>
void launch_tensor(const Gemm& gemm, cudaStream_t stream) {
    const dim3 grid(static_cast<unsigned>(ceil_div<int64_t>(gemm.w.rows, kRowTile)),
                    static_cast<unsigned>(ceil_div(gemm.tokens, token_tile)), static_cast<unsigned>(gemm.groups));
    tensor_kernel<types, token_tile><<<grid, kThreads, sizeof(Tiles<token_tile>), stream>>>(gemm);
}

}  // namespace

void prepare_gemm() {
    const auto allow = [](auto kernel, size_t bytes) {
        (void)cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
    };
    const auto allow_both = [&]<WeightTypes types>() {
        allow(tensor_kernel<types, 128>, sizeof(Tiles<128>));
        allow(tensor_kernel<types, 32>, sizeof(Tiles<32>));
    };
    allow_both.template operator()<WeightTypes::simple>();
    allow_both.template operator()<WeightTypes::small_floats>();
    allow_both.template operator()<WeightTypes::all>();
}

void make_factors(const float* x, int64_t rows, int64_t cols, int64_t stride, uint16_t* factors, cudaStream_t stream) {
    constexpr int64_t kBlock = 256;
    const int64_t eights = rows * ceil_div<int64_t>(cols, 8);
    factors_kernel<<<static_cast<unsigned>(ceil_div(eights, kBlock)), kBlock, 0, stream>>>(x, rows, cols, stride,
                                                                                           factors);
}

void run_gemm(const Gemm& gemm, cudaStream_t stream) {
    if (gemm.w.rows == 0 || gemm.tokens == 0) return;
    if (gemm.factors == nullptr || gemm.w.type == WeightType::f32) {
        const dim3 grid(static_cast<unsigned>(ceil_div<int64_t>(gemm.w.rows, kTile)),
                        static_cast<unsigned>(ceil_div(gemm.tokens, kTile)), static_cast<unsigned>(gemm.groups));
        float32_kernel<<<grid, 256, 0, stream>>>(gemm);
        return;
    }
    const auto launch = [&]<WeightTypes types>() {
        if (gemm.usual_tokens <= 48) {
            launch_tensor<types, 32>(gemm, stream);
        } else {
            launch_tensor<types, 128>(gemm, stream);
        }
    };
    with_weight_types({gemm.w.type}, launch);
}

}  // namespace octavo::cuda
