// Products with a few tokens read each weight row once, a warp to a few rows; products with many go in tiles (gemm.cu).
#include <algorithm>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/gemm.cuh"
#include "kernels/cuda/nvfp4_rows.cuh"

namespace octavo::cuda {
namespace {

constexpr int kFewTokens = 4;
constexpr int kWarps = 4;
constexpr int kMaxTargets = 4;
constexpr int kNvfp4Tiles = 2;  // of a block, where there are enough rows

// Up to four matrices over the same x, in one launch.
struct FewTokens {
    struct Target {
        DeviceMatrix w;
        float* y;
        int64_t y_stride;
        int64_t first_block;  // of the launch
        bool accumulate;
    };
    Target targets[kMaxTargets];
    int count;
    const float* x;
    int64_t x_stride;
};

__device__ const FewTokens::Target& target_of_block(const FewTokens& op) {
    int which = 0;
    while (which + 1 < op.count && static_cast<int64_t>(blockIdx.x) >= op.targets[which + 1].first_block) ++which;
    return op.targets[which];
}

// Each warp: `rows` rows, all tokens.
template <WeightType type, bool look_always, int rows, int tokens>
__device__ void few_rows(const FewTokens::Target& target, int64_t first_row, const float* x, int64_t x_stride) {
    const DeviceMatrix& w = target.w;
    float sums[rows][tokens];
    row_dots<type, look_always>(w, first_row, x, x_stride, sums);
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
    const FewTokens::Target& target = target_of_block(op);
    const int64_t warp = (blockIdx.x - target.first_block) * kWarps + threadIdx.x / kWarp;
    if (warp * rows >= target.w.rows) return;
    with_weight_type<types>(target.w.type, [&](auto type) {
        few_rows<decltype(type)::value, types != WeightTypes::small_floats, rows, tokens>(target, warp * rows, op.x,
                                                                                          op.x_stride);
    });
}

// NVFP4 on tensor cores: a block to `tiles` times 16 rows.
template <int tokens, int tiles>
__global__ void __launch_bounds__(kWarps* kWarp) nvfp4_kernel(FewTokens op) {
    __shared__ nvfp4::Staged<kWarps, tokens> staged;
    __shared__ float parts[tiles][kWarps][nvfp4::kRows][tokens];
    const FewTokens::Target& target = target_of_block(op);
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

// The launch's blocks, each with `rows` rows.
unsigned share_out(FewTokens& op, int rows) {
    int64_t blocks = 0;
    for (int i = 0; i < op.count; ++i) {
        op.targets[i].first_block = blocks;
        blocks += ceil_div<int64_t>(op.targets[i].w.rows, rows);
    }
    return static_cast<unsigned>(blocks);
}

template <int tiles>
void launch_nvfp4(FewTokens op, int tokens, cudaStream_t stream) {
    const unsigned grid = share_out(op, nvfp4::kRows * tiles);
    if (tokens == 1) nvfp4_kernel<1, tiles><<<grid, kWarps * kWarp, 0, stream>>>(op);
    if (tokens == 2) nvfp4_kernel<2, tiles><<<grid, kWarps * kWarp, 0, stream>>>(op);
    if (tokens == 3) nvfp4_kernel<3, tiles><<<grid, kWarps * kWarp, 0, stream>>>(op);
    if (tokens == 4) nvfp4_kernel<4, tiles><<<grid, kWarps * kWarp, 0, stream>>>(op);
}

template <WeightTypes types, int rows>
void launch_few(FewTokens op, int tokens, cudaStream_t stream) {
    const unsigned grid = share_out(op, rows * kWarps);
    if (tokens == 1) few_tokens_kernel<types, rows, 1><<<grid, kWarps * kWarp, 0, stream>>>(op);
    if (tokens == 2) few_tokens_kernel<types, rows, 2><<<grid, kWarps * kWarp, 0, stream>>>(op);
    if (tokens == 3) few_tokens_kernel<types, rows, 3><<<grid, kWarps * kWarp, 0, stream>>>(op);
    if (tokens == 4) few_tokens_kernel<types, rows, 4><<<grid, kWarps * kWarp, 0, stream>>>(op);
}

}  // namespace

void CudaBackend::matmul(const float* x, int tokens, std::span<const MatmulTarget> targets) {
    if (tokens > kFewTokens) {
        if (targets.empty()) return;
        const int64_t cols = targets.front().w.cols;
        uint16_t* factors = nullptr;
        if (!float32_) {
            factors = reinterpret_cast<uint16_t*>(scratch(std::max<int64_t>(256, factor_bytes(tokens, cols))));
            if (factors == nullptr) return;
            make_factors(x, tokens, cols, cols, factors, stream_);
            launched();
        }
        for (const MatmulTarget& target : targets) {
            Gemm gemm;
            gemm.w = device_matrix(target.w);
            gemm.x = x;
            gemm.x_stride = cols;
            gemm.factors = factors;
            gemm.factor_stride = factor_stride(cols);
            gemm.y = target.y;
            gemm.y_stride = target.y_stride;
            gemm.tokens = gemm.usual_tokens = tokens;
            gemm.accumulate = target.accumulate;
            run_gemm(gemm, stream_);
            launched();
        }
        return;
    }
    // Enough rows to keep every multiprocessor busy: then several share what is loaded of x.
    constexpr int kRowsTogether = 4;
    for (size_t first = 0; first < targets.size(); first += kMaxTargets) {
        FewTokens op = {};
        op.x = x;
        op.x_stride = targets[first].w.cols;
        int64_t rows = 0;
        for (const MatmulTarget& target :
             targets.subspan(first, std::min<size_t>(kMaxTargets, targets.size() - first))) {
            op.targets[op.count++] = {device_matrix(target.w), target.y, target.y_stride, 0, target.accumulate};
            rows += target.w.rows;
        }
        const bool tensor_cores = !float32_ && compute_capability_ >= 80 && reinterpret_cast<uintptr_t>(x) % 16 == 0 &&
                                  std::all_of(op.targets, op.targets + op.count,
                                              [](const FewTokens::Target& t) { return nvfp4::reads(t.w); });
        if (tensor_cores) {
            if (rows >= int64_t{multiprocessors_} * nvfp4::kRows * 16) {
                launch_nvfp4<kNvfp4Tiles>(op, tokens, stream_);
            } else {
                launch_nvfp4<1>(op, tokens, stream_);
            }
            launched();
            continue;
        }
        const bool share_x = rows >= int64_t{multiprocessors_} * kWarps * kRowsTogether * 4;
        const auto launch = [&]<WeightTypes types>() {
            if (share_x) {
                launch_few<types, kRowsTogether>(op, tokens, stream_);
            } else {
                launch_few<types, 1>(op, tokens, stream_);
            }
        };
        const auto type = [&](int i) { return op.targets[std::min(i, op.count - 1)].w.type; };
        with_weight_types({type(0), type(1), type(2), type(3)}, launch);
        launched();
    }
}

}  // namespace octavo::cuda
