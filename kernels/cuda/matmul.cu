// Products with a few tokens read each weight row once, a warp to a few rows; products with many go in tiles (gemm.cu).
#include <algorithm>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/gemm.cuh"

namespace octavo::cuda {
namespace {

constexpr int kFewTokens = 4;
constexpr int kWarps = 4;
constexpr int kMaxTargets = 4;

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

// Each warp: `rows` rows, all tokens. Lanes take eight columns in turn, as row_dot does.
template <WeightType type, int rows, int tokens>
__device__ void few_rows(const FewTokens::Target& target, int64_t first_row, const float* x, int64_t x_stride) {
    const int lane = threadIdx.x % kWarp;
    const DeviceMatrix& w = target.w;
    float sums[rows][tokens] = {};
    const auto add = [&](auto wide) {
#pragma unroll(rows == 1 && tokens == 1 ? 8 : 1)
        for (int64_t column = lane * 8; column < w.cols; column += kWarp * 8) {
            float inputs[tokens][8];
#pragma unroll
            for (int t = 0; t < tokens; ++t) {
                inputs_at<decltype(wide)::value>(x + t * x_stride, column, w.cols, inputs[t]);
            }
#pragma unroll
            for (int r = 0; r < rows; ++r) {
                const int64_t row = min(first_row + r, w.rows - 1);
                float values[8];
                const float scale = codes_at<type>(w, w.data + row * w.row_bytes, column, values);
#pragma unroll
                for (int t = 0; t < tokens; ++t) {
                    float part = 0;
#pragma unroll
                    for (int i = 0; i < 8; ++i) part = fmaf(values[i], inputs[t][i], part);
                    sums[r][t] = fmaf(scale, part, sums[r][t]);
                }
            }
        }
    };
    if (w.cols % 8 == 0 && reinterpret_cast<uintptr_t>(x) % 16 == 0 && x_stride % 4 == 0) {
        add(std::true_type());
    } else {
        add(std::false_type());
    }
#pragma unroll
    for (int r = 0; r < rows; ++r) {
#pragma unroll
        for (int t = 0; t < tokens; ++t) {
            const float sum = warp_sum(sums[r][t]);
            if (lane != 0 || first_row + r >= w.rows) continue;
            float* y = target.y + t * target.y_stride + first_row + r;
            *y = (target.accumulate ? *y : 0.0f) + sum;
        }
    }
}

template <WeightTypes types, int rows, int tokens>
__global__ void __launch_bounds__(kWarps* kWarp) few_tokens_kernel(FewTokens op) {
    int which = 0;
    while (which + 1 < op.count && static_cast<int64_t>(blockIdx.x) >= op.targets[which + 1].first_block) ++which;
    const FewTokens::Target& target = op.targets[which];
    const int64_t warp = (blockIdx.x - target.first_block) * kWarps + threadIdx.x / kWarp;
    if (warp * rows >= target.w.rows) return;
    with_weight_type<types>(target.w.type, [&](auto type) {
        few_rows<decltype(type)::value, rows, tokens>(target, warp * rows, op.x, op.x_stride);
    });
}

template <WeightTypes types, int rows>
void launch_few(FewTokens op, int tokens, cudaStream_t stream) {
    int64_t blocks = 0;
    for (int i = 0; i < op.count; ++i) {
        op.targets[i].first_block = blocks;
        blocks += ceil_div<int64_t>(op.targets[i].w.rows, rows * kWarps);
    }
    const auto grid = static_cast<unsigned>(blocks);
    if (tokens == 1) few_tokens_kernel<types, rows, 1><<<grid, kWarps * kWarp, 0, stream>>>(op);
    if (tokens == 2) few_tokens_kernel<types, rows, 2><<<grid, kWarps * kWarp, 0, stream>>>(op);
    if (tokens == 3) few_tokens_kernel<types, rows, 3><<<grid, kWarps * kWarp, 0, stream>>>(op);
    if (tokens == 4) few_tokens_kernel<types, rows, 4><<<grid, kWarps * kWarp, 0, stream>>>(op);
}

}  // namespace

bool CudaBackend::reads(const Matrix& w) const { return device_reads(w); }

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
        const bool share_x = rows >= int64_t{multiprocessors_} * kWarps * kRowsTogether * 4;
        const auto launch = [&]<WeightTypes types>() {
            if (share_x) {
                launch_few<types, kRowsTogether>(op, tokens, stream_);
            } else {
                launch_few<types, 1>(op, tokens, stream_);
            }
        };
        if (std::all_of(op.targets, op.targets + op.count, [](const auto& t) { return is_simple(t.w.type); })) {
            launch.template operator()<WeightTypes::simple>();
        } else {
            launch.template operator()<WeightTypes::all>();
        }
        launched();
    }
}

}  // namespace octavo::cuda
