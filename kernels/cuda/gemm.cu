#include "kernels/cuda/gemm.cuh"

#include "kernels/cuda/gemm_exact.cuh"
#include "kernels/cuda/gemm_tensor.cuh"
#include "kernels/cuda/packed_factors.cuh"

namespace octavo::cuda {
namespace {

// ---- float32: 256 threads, each 4 rows x 4 tokens ----

constexpr int kTile = 64;   // rows, and tokens, of a block's result
constexpr int kDepth = 16;  // columns at a time
constexpr int kPitch = kTile + 4;

template <WeightType type>
__device__ void float32_tile(const Gemm& g, const GemmPart& part, float (*ws)[kPitch], float (*xs)[kPitch]) {
    const int64_t first_row = int64_t{blockIdx.y} * kTile;
    const int thread = threadIdx.x;
    const int at = thread / 4;  // row or token that this thread loads, four columns of it
    const int columns = thread % 4 * 4;
    const int tr = thread / 16 * 4;  // its results
    const int tt = thread % 16 * 4;
    const bool row_there = first_row + at < g.w.rows;
    const WeightRow w_row = weight_row<type>(part.w, row_there ? first_row + at : 0);
    const float* x = g.x + x_row(g, part.first + (at < part.tokens ? at : 0)) * g.x_stride;
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
        float* y = y_row(g, part, tt + t) + first_row + tr;
        for (int r = 0; r < 4 && first_row + tr + r < g.w.rows; ++r) {
            y[r] = (g.accumulate ? y[r] : 0.0f) + part.w.scale * sums[t][r];
        }
    }
}

__global__ void __launch_bounds__(256) float32_kernel(Gemm g) {
    __shared__ __align__(16) float ws[kDepth][kPitch];
    __shared__ __align__(16) float xs[kDepth][kPitch];
    GemmPart part = gemm_part(g, kTile);
    const int end = part.first + part.tokens;
    for (; part.first < end; part.first += kTile) {
        part.tokens = min(kTile, end - part.first);
        with_weight_type<WeightTypes::all>(g.w.type,
                                           [&](auto type) { float32_tile<decltype(type)::value>(g, part, ws, xs); });
    }
}

// ---- factors ----

// What a row whose largest magnitude has these bits is multiplied with: it then lies in [2^14, 2^15). Rows of zeros,
// and those that hold what is not finite, stay as they are.
__device__ inline int scale_exponent(uint32_t largest) {
    const int exponent = static_cast<int>(largest >> 23);
    return exponent == 255 || largest == 0 ? 0 : min(14 + 127 - exponent, 126);
}

constexpr int kFactorThreads = 256;

// A block to a row.
__global__ void __launch_bounds__(kFactorThreads)
    factors_kernel(const float* x, int64_t cols, int64_t stride, uint16_t* values, float* scales) {
    __shared__ uint32_t of_warps[kFactorThreads / kWarp];
    const int64_t row = blockIdx.x;
    const float* const from = x + row * stride;
    uint32_t largest = 0;  // magnitudes are in the order of their bits
    for (int64_t i = threadIdx.x; i < cols; i += kFactorThreads)
        largest = max(largest, __float_as_uint(from[i]) & 0x7fffffffu);
#pragma unroll
    for (int offset = kWarp / 2; offset > 0; offset /= 2)
        largest = max(largest, __shfl_xor_sync(kAllLanes, largest, offset));
    if (threadIdx.x % kWarp == 0) of_warps[threadIdx.x / kWarp] = largest;
    __syncthreads();
#pragma unroll
    for (const uint32_t of_warp : of_warps) largest = max(largest, of_warp);
    const int exponent = scale_exponent(largest);
    const float scale = ldexpf(1.0f, exponent);
    if (threadIdx.x == 0) scales[row] = ldexpf(1.0f, -exponent);
    auto* const to = reinterpret_cast<uint4*>(values + row * factor_stride(cols));
    for (int64_t column = threadIdx.x * 8; column < cols; column += kFactorThreads * 8) {
        float eight[8];
#pragma unroll
        for (int i = 0; i < 8; ++i) eight[i] = column + i < cols ? from[column + i] * scale : 0.0f;
        to[column / 8] = factors::packed(eight);
    }
}

// The types that kernels are made for; the others share one.
template <class Use>
void with_factor_type(WeightType type, Use&& use) {
    switch (type) {
        case WeightType::f16: return use.template operator()<FactorWeights<WeightType::f16>>();
        case WeightType::bf16: return use.template operator()<FactorWeights<WeightType::bf16>>();
        case WeightType::f8_e4m3: return use.template operator()<FactorWeights<WeightType::f8_e4m3>>();
        case WeightType::f8_e4m3_blocks: return use.template operator()<FactorWeights<WeightType::f8_e4m3_blocks>>();
        case WeightType::nvfp4_apart: return use.template operator()<FactorWeights<WeightType::nvfp4_apart>>();
        case WeightType::q8_0: return use.template operator()<FactorWeights<WeightType::q8_0>>();
        case WeightType::q4_0: return use.template operator()<FactorWeights<WeightType::q4_0>>();
        case WeightType::q4_1: return use.template operator()<FactorWeights<WeightType::q4_1>>();
        case WeightType::q5_0: return use.template operator()<FactorWeights<WeightType::q5_0>>();
        case WeightType::q5_1: return use.template operator()<FactorWeights<WeightType::q5_1>>();
        case WeightType::q4_k: return use.template operator()<FactorWeights<WeightType::q4_k>>();
        case WeightType::q5_k: return use.template operator()<FactorWeights<WeightType::q5_k>>();
        case WeightType::q6_k: return use.template operator()<FactorWeights<WeightType::q6_k>>();
        case WeightType::q3_k: return use.template operator()<FactorWeights<WeightType::q3_k>>();
        case WeightType::q2_k: return use.template operator()<FactorWeights<WeightType::q2_k>>();
        case WeightType::iq4_nl: return use.template operator()<FactorWeights<WeightType::iq4_nl>>();
        case WeightType::iq4_xs: return use.template operator()<FactorWeights<WeightType::iq4_xs>>();
        case WeightType::mxfp4: return use.template operator()<FactorWeights<WeightType::mxfp4>>();
        default: return use.template operator()<OtherFactorWeights>();
    }
}

int of_this_gpu(cudaDeviceAttr attribute) {
    int device = 0, value = 0;
    (void)cudaGetDevice(&device);
    (void)cudaDeviceGetAttribute(&value, attribute, device);
    return value;
}
// GPUs before 8.0 have no room for them.
bool large_tiles() { return of_this_gpu(cudaDevAttrMaxSharedMemoryPerBlockOptin) >= LargeTile::kRoom; }

// Of one group: whether small tiles are wanted to keep every multiprocessor busy.
bool few_large_tiles(const Gemm& gemm) {
    const int64_t tiles = ceil_div(gemm.tokens, LargeTile::kTokens) * ceil_div<int64_t>(gemm.w.rows, 128);
    return tiles * (gemm.twin.y != nullptr ? 2 : 1) < of_this_gpu(cudaDevAttrMultiProcessorCount);
}

}  // namespace

void prepare_gemm() {
    for (const WeightTypeSpec& spec : weight_types()) {
        with_factor_type(spec.type, [large = large_tiles()]<class Weights>() {
            allow_tensor<Weights, SmallTile>();
            if (large) allow_tensor<Weights, LargeTile>();
        });
    }
}

int gemm_tile(int usual_tokens) {
    return usual_tokens <= 48 || !large_tiles() ? SmallTile::kTokens : LargeTile::kTokens;
}

Factors make_factors(const float* x, int64_t rows, int64_t cols, int64_t stride, std::byte* memory,
                     cudaStream_t stream) {
    auto* const values = reinterpret_cast<uint16_t*>(memory);
    auto* const scales = reinterpret_cast<float*>(memory + factor_value_bytes(rows, cols));
    factors_kernel<<<static_cast<unsigned>(rows), kFactorThreads, 0, stream>>>(x, cols, stride, values, scales);
    return {values, scales};
}

void run_gemm(const Gemm& gemm, cudaStream_t stream) {
    if (gemm.w.rows == 0 || gemm.tokens == 0) return;
    const auto grid_of = [&](int rows, int tokens) {
        const int tiles = gemm.tiles != nullptr ? gemm.most_tiles : ceil_div(gemm.tokens, tokens);
        return dim3(static_cast<unsigned>(tiles), static_cast<unsigned>(ceil_div<int64_t>(gemm.w.rows, rows)),
                    gemm.twin.y != nullptr ? 2 : 1);
    };
    if (gemm.factors.values == nullptr || gemm.w.type == WeightType::f32) {
        if (gemm.tensor_cores && gemm.tiles == nullptr && gemm.twin.y == nullptr) {
            exact_kernel<<<grid_of(kExactRows, kExactTokens), kExactWarps * kWarp, 0, stream>>>(gemm);
        } else {
            float32_kernel<<<grid_of(kTile, kTile), 256, 0, stream>>>(gemm);
        }
        return;
    }
    const bool small =
        gemm_tile(gemm.usual_tokens) == SmallTile::kTokens || (gemm.tiles == nullptr && few_large_tiles(gemm));
    with_factor_type(gemm.w.type, [&]<class Weights>() {
        small ? launch_tensor<Weights, SmallTile>(gemm, stream) : launch_tensor<Weights, LargeTile>(gemm, stream);
    });
}

}  // namespace octavo::cuda
