#include "kernels/cuda/gemm.cuh"

#include "kernels/cuda/mma.cuh"

namespace octavo::cuda {
namespace {

constexpr int kTile = 64;  // rows, and tokens, of a block's result

// The list entries of a block's group, and its matrix.
struct Part {
    const unsigned char* w;
    int first = 0;   // entry of the tile's first token
    int tokens = 0;  // of the tile; <= 0: nothing to do
};

__device__ Part part_of(const Gemm& g) {
    const int group = blockIdx.z;
    const int begin = g.starts == nullptr ? 0 : g.starts[group];
    const int end = g.starts == nullptr ? g.tokens : g.starts[group + 1];
    const int first = begin + static_cast<int>(blockIdx.y) * kTile;
    return {g.w.data + group * g.group_bytes, first, min(kTile, end - first)};
}

__device__ const float* x_row(const Gemm& g, int entry) {
    return g.x + (g.x_tokens == nullptr ? entry : g.x_tokens[entry]) * g.x_stride;
}
__device__ float* y_row(const Gemm& g, int entry) {
    return g.y + (g.y_tokens == nullptr ? entry : g.y_tokens[entry]) * g.y_stride;
}

// ---- float32: 256 threads, each 4 rows x 4 tokens ----

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
    const unsigned char* w_row = part.w + (row_there ? first_row + at : 0) * g.w.row_bytes;
    const float* x = x_row(g, part.first + (at < part.tokens ? at : 0));
    float sums[4][4] = {};
    for (int64_t k = 0; k < g.w.cols; k += kDepth) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int64_t column = k + columns + i;
            const bool there = column < g.w.cols;
            ws[columns + i][at] = there && row_there ? weight_at<type>(g.w, w_row, column) : 0.0f;
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
        for (int r = 0; r < 4 && first_row + tr + r < g.w.rows; ++r) y[r] = (g.accumulate ? y[r] : 0.0f) + sums[t][r];
    }
}

__global__ void __launch_bounds__(256) float32_kernel(Gemm g) {
    __shared__ __align__(16) float ws[kDepth][kPitch];
    __shared__ __align__(16) float xs[kDepth][kPitch];
    const Part part = part_of(g);
    if (part.tokens <= 0) return;
    with_weight_type(g.w.type, [&](auto type) { float32_tile<decltype(type)::value>(g, part, ws, xs); });
}

// ---- tensor cores: 4 warps, each 32 rows x 32 tokens ----

constexpr int kStep = 64;              // columns at a time
constexpr int kHalfPitch = kStep + 8;  // 16-bit values; no two rows of a fragment meet in a bank

// Eight values as four pairs of 16-bit numbers.
__device__ uint4 pack8(const float (&v)[8]) {
    return {pack_factors(v[0], v[1]), pack_factors(v[2], v[3]), pack_factors(v[4], v[5]), pack_factors(v[6], v[7])};
}

template <WeightType type>
__device__ void tensor_tile(const Gemm& g, const Part& part, uint16_t (*ws)[kHalfPitch], uint16_t (*xs)[kHalfPitch]) {
    constexpr int kThreads = 128;
    constexpr int kLoads = kTile * kStep / 8 / kThreads;  // of eight values, by a thread, for each of w and x
    const int64_t first_row = int64_t{blockIdx.x} * kTile;
    const int lane = threadIdx.x % kWarp;
    const int warp = threadIdx.x / kWarp;
    const int row0 = warp / 2 * 32;
    const int token0 = warp % 2 * 32;
    float sums[2][4][4] = {};
    for (int64_t k = 0; k < g.w.cols; k += kStep) {
#pragma unroll
        for (int i = 0; i < kLoads; ++i) {
            const int piece = threadIdx.x + i * kThreads;
            const int at = piece / (kStep / 8);
            const int column = piece % (kStep / 8) * 8;
            float w[8] = {};
            float x[8] = {};
            if (k + column < g.w.cols) {
                if (first_row + at < g.w.rows) {
                    weights_at<type>(g.w, part.w + (first_row + at) * g.w.row_bytes, k + column, w);
                }
                if (at < part.tokens) {
                    const float* from = x_row(g, part.first + at) + k + column;
#pragma unroll
                    for (int j = 0; j < 8; ++j) x[j] = k + column + j < g.w.cols ? from[j] : 0.0f;
                }
            }
            *reinterpret_cast<uint4*>(&ws[at][column]) = pack8(w);
            *reinterpret_cast<uint4*>(&xs[at][column]) = pack8(x);
        }
        __syncthreads();
#pragma unroll
        for (int d = 0; d < kStep; d += 16) {
            const int column = d + lane % 4 * 2;
            const auto word = [](const uint16_t* from) { return *reinterpret_cast<const uint32_t*>(from); };
            uint32_t a[2][4];
#pragma unroll
            for (int m = 0; m < 2; ++m) {
                const int row = row0 + m * 16 + lane / 4;
                a[m][0] = word(&ws[row][column]);
                a[m][1] = word(&ws[row + 8][column]);
                a[m][2] = word(&ws[row][column + 8]);
                a[m][3] = word(&ws[row + 8][column + 8]);
            }
#pragma unroll
            for (int n = 0; n < 4; ++n) {
                const int token = token0 + n * 8 + lane / 4;
                const uint32_t b0 = word(&xs[token][column]);
                const uint32_t b1 = word(&xs[token][column + 8]);
#pragma unroll
                for (int m = 0; m < 2; ++m) mma_factors(sums[m][n], a[m], b0, b1);
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int n = 0; n < 4; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int token = token0 + n * 8 + lane % 4 * 2 + i % 2;
            if (token >= part.tokens) continue;
            float* y = y_row(g, part.first + token);
#pragma unroll
            for (int m = 0; m < 2; ++m) {
                const int64_t row = first_row + row0 + m * 16 + lane / 4 + i / 2 * 8;
                if (row < g.w.rows) y[row] = (g.accumulate ? y[row] : 0.0f) + sums[m][n][i];
            }
        }
    }
}

__global__ void __launch_bounds__(128) tensor_kernel(Gemm g) {
    __shared__ __align__(16) uint16_t ws[kTile][kHalfPitch];
    __shared__ __align__(16) uint16_t xs[kTile][kHalfPitch];
    const Part part = part_of(g);
    if (part.tokens <= 0) return;
    with_weight_type(g.w.type, [&](auto type) { tensor_tile<decltype(type)::value>(g, part, ws, xs); });
}

}  // namespace

void run_gemm(const Gemm& gemm, bool float32, cudaStream_t stream) {
    if (gemm.w.rows == 0 || gemm.tokens == 0) return;
    const dim3 grid(static_cast<unsigned>(ceil_div<int64_t>(gemm.w.rows, kTile)),
                    static_cast<unsigned>(ceil_div(gemm.tokens, kTile)), static_cast<unsigned>(gemm.groups));
    if (float32 || gemm.w.type == WeightType::f32) {
        float32_kernel<<<grid, 256, 0, stream>>>(gemm);
    } else {
        tensor_kernel<<<grid, 128, 0, stream>>>(gemm);
    }
}

}  // namespace octavo::cuda
