// Products with a few tokens read each weight row once, a warp to a few rows: in whole numbers (int8_products.cu), on
// tensor cores (NVFP4) or in float32. Products with many go in tiles (gemm.cu).
#include <algorithm>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/few_tokens.cuh"
#include "kernels/cuda/gemm.cuh"
#include "kernels/cuda/int8_rows.cuh"
#include "kernels/cuda/nvfp4_rows.cuh"

namespace octavo::cuda {
namespace {

constexpr int kWarps = 4;
constexpr int kNvfp4Tiles = 2;  // of a block, where there are enough rows

// Each warp: `rows` rows, all tokens.
template <WeightType type, int rows, int tokens>
__device__ void few_rows(const FewTokens::Target& target, int64_t first_row, const float* x, int64_t x_stride) {
    const DeviceMatrix& w = target.w;
    float sums[rows][tokens];
    row_dots<type>(w, first_row, x, x_stride, sums);
    if (threadIdx.x % kWarp != 0) return;
#pragma unroll
    for (int r = 0; r < rows; ++r) {
#pragma unroll
        for (int t = 0; t < tokens; ++t) {
            if (first_row + r >= w.rows) continue;
            float* y = target.y + t * target.y_stride + first_row + r;
            *y = (target.accumulate ? *y : 0.0f) + w.scale * sums[r][t];
        }
    }
}

template <WeightTypes types, int rows, int tokens>
__global__ void __launch_bounds__(kWarps* kWarp) few_tokens_kernel(FewTokens op) {
    const FewTokens::Target& target = target_of(op, blockIdx.x);
    const int64_t warp = (blockIdx.x - target.first_block) * kWarps + threadIdx.x / kWarp;
    if (warp * rows >= target.w.rows) return;
    with_weight_type<types>(target.w.type, [&](auto type) {
        few_rows<decltype(type)::value, rows, tokens>(target, warp * rows, op.x, op.x_stride);
    });
}

// NVFP4 on tensor cores: a block to `tiles` times 16 rows.
template <int tokens, int tiles>
__global__ void __launch_bounds__(kWarps* kWarp) nvfp4_kernel(FewTokens op) {
    __shared__ nvfp4::Staged<kWarps, tokens> staged;
    __shared__ float parts[tiles][kWarps][nvfp4::kRows][tokens];
    const FewTokens::Target& target = target_of(op, blockIdx.x);
    const DeviceMatrix& w = target.w;
    const int warp = threadIdx.x / kWarp;
    const int64_t first_row = (blockIdx.x - target.first_block) * nvfp4::kRows * tiles;
    float sums[tiles][4] = {};
    nvfp4::add_chunks(
        static_cast<int>(w.cols / nvfp4::kColumns), warp, staged,
        [&](int chunk, int tile) {
            return nvfp4::load_chunk(w, first_row + tile * nvfp4::kRows, int64_t{chunk} * nvfp4::kColumns);
        },
        [&](int group, int token, float(&x)[8]) {
            inputs_at<true>(op.x + token * op.x_stride, int64_t{group} * 8, w.cols, x);
        },
        sums);
#pragma unroll
    for (int tile = 0; tile < tiles; ++tile) nvfp4::keep_sums(sums[tile], parts[tile][warp]);
    __syncthreads();
    for (int i = threadIdx.x; i < tiles * nvfp4::kRows * tokens; i += blockDim.x) {
        const int token = i / (tiles * nvfp4::kRows);
        const int row = i % (tiles * nvfp4::kRows);
        if (first_row + row >= w.rows) continue;
        float* y = target.y + token * target.y_stride + first_row + row;
        const float sum = nvfp4::total<kWarps>(parts[row / nvfp4::kRows], row % nvfp4::kRows, token);
        *y = (target.accumulate ? *y : 0.0f) + w.scale * sum;
    }
}

template <int tiles>
void launch_nvfp4(FewTokens op, cudaStream_t stream) {
    const auto grid = static_cast<unsigned>(share_out(op, nvfp4::kRows * tiles));
    if (op.tokens == 1) nvfp4_kernel<1, tiles><<<grid, kWarps * kWarp, 0, stream>>>(op);
    if (op.tokens == 2) nvfp4_kernel<2, tiles><<<grid, kWarps * kWarp, 0, stream>>>(op);
    if (op.tokens == 3) nvfp4_kernel<3, tiles><<<grid, kWarps * kWarp, 0, stream>>>(op);
    if (op.tokens == 4) nvfp4_kernel<4, tiles><<<grid, kWarps * kWarp, 0, stream>>>(op);
}

template <WeightTypes types, int rows>
void launch_floats(FewTokens op, cudaStream_t stream) {
    const auto grid = static_cast<unsigned>(share_out(op, rows * kWarps));
    if (op.tokens == 1) few_tokens_kernel<types, rows, 1><<<grid, kWarps * kWarp, 0, stream>>>(op);
    if (op.tokens == 2) few_tokens_kernel<types, rows, 2><<<grid, kWarps * kWarp, 0, stream>>>(op);
    if (op.tokens == 3) few_tokens_kernel<types, rows, 3><<<grid, kWarps * kWarp, 0, stream>>>(op);
    if (op.tokens == 4) few_tokens_kernel<types, rows, 4><<<grid, kWarps * kWarp, 0, stream>>>(op);
}

int64_t rows_of(const FewTokens& op) {
    int64_t rows = 0;
    for (int i = 0; i < op.count; ++i) rows += op.targets[i].w.rows;
    return rows;
}

void run_nvfp4(const FewTokens& op, int multiprocessors, cudaStream_t stream) {
    if (rows_of(op) >= int64_t{multiprocessors} * nvfp4::kRows * 16) {
        launch_nvfp4<kNvfp4Tiles>(op, stream);
    } else {
        launch_nvfp4<1>(op, stream);
    }
}

// Packed types come here in float32 mode alone; their rows share nothing.
void run_floats(const FewTokens& op, int multiprocessors, cudaStream_t stream) {
    // Enough rows to keep every multiprocessor busy: then several share what is loaded of x.
    constexpr int kRowsTogether = 4;
    const bool share_x = rows_of(op) >= int64_t{multiprocessors} * kWarps * kRowsTogether * 4;
    const auto launch = [&]<WeightTypes types>() {
        if constexpr (types != WeightTypes::all) {
            if (share_x) return launch_floats<types, kRowsTogether>(op, stream);
        }
        launch_floats<types, 1>(op, stream);
    };
    const auto type = [&](int i) { return op.targets[std::min(i, op.count - 1)].w.type; };
    with_weight_types({type(0), type(1), type(2), type(3)}, launch);
}

enum class Way { whole_numbers, tensor_cores, floats };
constexpr Way kWays[] = {Way::whole_numbers, Way::tensor_cores, Way::floats};

Way way_of(const DeviceMatrix& w, const FewTokens& op, const FewTokensWays& ways) {
    if (!ways.float32 && int8_rows::reads(w) && int8_rows::reads(op.x, op.x_stride)) return Way::whole_numbers;
    if (ways.tensor_cores && nvfp4::reads(w) && reinterpret_cast<uintptr_t>(op.x) % 16 == 0) return Way::tensor_cores;
    return Way::floats;
}

void run_way(Way way, const FewTokens& op, const FewTokensWays& ways, cudaStream_t stream) {
    switch (way) {
        case Way::whole_numbers: return run_int8_products(op, ways, stream);
        case Way::tensor_cores: return run_nvfp4(op, ways.multiprocessors, stream);
        case Way::floats: return run_floats(op, ways.multiprocessors, stream);
    }
}

// Targets that go the same way share launches.
void few_products(const float* x, int tokens, std::span<const MatmulTarget> targets, const FewTokensWays& ways,
                  cudaStream_t stream) {
    for (const Way way : kWays) {
        FewTokens op = {};
        op.tokens = tokens;
        op.x = x;
        op.x_stride = targets.front().w.cols;
        for (const MatmulTarget& target : targets) {
            const DeviceMatrix w = device_matrix(target.w);
            if (way_of(w, op, ways) != way) continue;
            op.targets[op.count++] = {w, target.y, target.y_stride, 0, target.accumulate};
            if (op.count < kMaxTargets) continue;
            run_way(way, op, ways, stream);
            op.count = 0;
        }
        if (op.count > 0) run_way(way, op, ways, stream);
    }
}

}  // namespace

void CudaBackend::matmul(const float* x, int tokens, std::span<const MatmulTarget> targets) {
    if (targets.empty()) return;
    if (tokens <= kFewTokens) {
        few_products(x, tokens, targets, few_tokens_ways(), stream_);
        return launched();
    }
    const int64_t cols = targets.front().w.cols;
    Factors factors;
    if (!float32_) {
        std::byte* const memory = scratch(std::max<int64_t>(256, factor_bytes(tokens, cols)));
        if (memory == nullptr) return;
        factors = make_factors(x, tokens, cols, cols, memory, stream_);
        launched();
    }
    for (const MatmulTarget& target : targets) {
        Gemm gemm;
        gemm.w = device_matrix(target.w);
        gemm.x = x;
        gemm.x_stride = cols;
        if (!wants_float32(gemm.w)) gemm.factors = factors;
        gemm.tensor_cores = !float32_ && compute_capability_ >= 80;
        gemm.y = target.y;
        gemm.y_stride = target.y_stride;
        gemm.tokens = gemm.usual_tokens = tokens;
        gemm.accumulate = target.accumulate;
        run_gemm(gemm, stream_);
        launched();
    }
}

}  // namespace octavo::cuda
