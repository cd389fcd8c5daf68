// Norms, rotary, and operations that only move values.
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/weights.cuh"

namespace octavo::cuda {
namespace {

constexpr int kThreads = 256;

// 1 / sqrt(mean(x^2) + eps), for all threads of the block.
__device__ float rms_factor(const float* x, int width, float eps, float* shared) {
    float sum = 0;
    for (int i = threadIdx.x; i < width; i += blockDim.x) sum = fmaf(x[i], x[i], sum);
    return 1.0f / sqrtf(block_sum(sum, shared) / static_cast<float>(width) + eps);
}

__global__ void rms_norm_kernel(const float* x, int width, const float* weight, float eps, float* y) {
    __shared__ float shared[kWarp];
    x += int64_t{blockIdx.x} * width;
    y += int64_t{blockIdx.x} * width;
    const float factor = rms_factor(x, width, eps, shared);
    for (int i = threadIdx.x; i < width; i += blockDim.x) y[i] = x[i] * factor * weight[i];
}

__global__ void gated_norm_kernel(GatedNorm op) {
    __shared__ float shared[kWarp];
    const int64_t row = int64_t{blockIdx.x} * op.width;
    const float factor = rms_factor(op.x + row, op.width, op.rms_eps, shared);
    for (int i = threadIdx.x; i < op.width; i += blockDim.x) {
        op.y[row + i] = op.x[row + i] * factor * op.weight[i] * silu(op.z[row + i]);
    }
}

__global__ void add_kernel(const float* x, int64_t count, float* y) {
    const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < count) y[i] += x[i];
}

// One block a head: of q first, then of k.
__global__ void qk_norm_rope_kernel(QkNormRope op) {
    extern __shared__ float normed[];  // [head_dim]
    __shared__ float shared[kWarp];
    const int64_t token = blockIdx.y;
    const int head = blockIdx.x;
    const int dim = op.head_dim;
    const bool is_q = head < op.heads;
    const int k_head = head - op.heads;
    const float* x =
        is_q ? op.q_gate + (token * op.heads + head) * 2 * dim : op.k + (token * op.kv_heads + k_head) * dim;
    const float* weight = is_q ? op.q_norm + head * dim : op.k_norm + k_head * dim;
    float* y = is_q ? op.q + (token * op.heads + head) * dim : op.k + (token * op.kv_heads + k_head) * dim;

    const float factor = rms_factor(x, dim, op.rms_eps, shared);
    for (int i = threadIdx.x; i < dim; i += blockDim.x) normed[i] = x[i] * factor * weight[i];
    __syncthreads();
    const int pairs = op.rope_dims / 2;
    for (int i = threadIdx.x; i < dim; i += blockDim.x) {
        float value = normed[i];
        if (i < op.rope_dims) {
            const int j = i < pairs ? i : i - pairs;
            const float cosine = op.cos[token * pairs + j];
            const float sine = op.sin[token * pairs + j];
            const float a = normed[j];
            const float b = normed[j + pairs];
            value = i < pairs ? a * cosine - b * sine : a * sine + b * cosine;
        }
        y[i] = value;
    }
}

__global__ void gather_kernel(const float* x, int64_t x_stride, const int32_t* source, int count, float* y) {
    x += int64_t{blockIdx.y} * x_stride;
    y += int64_t{blockIdx.y} * count;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) y[i] = x[source[i]];
}

__global__ void embed_kernel(DeviceMatrix table, const int32_t* ids, float* x) {
    x += int64_t{blockIdx.x} * table.cols;
    with_weight_type<WeightTypes::all>(table.type, [&](auto type) {
        const WeightRow row = weight_row<decltype(type)::value>(table, ids[blockIdx.x]);
        for (int64_t i = threadIdx.x; i < table.cols; i += blockDim.x)
            x[i] = table.scale * weight_at<decltype(type)::value>(table, row, i);
    });
}

}  // namespace

void CudaBackend::rms_norm(const float* x, int rows, int width, const float* weight, float eps, float* y) {
    rms_norm_kernel<<<rows, kThreads, 0, stream_>>>(x, width, weight, eps, y);
    launched();
}

void CudaBackend::gated_norm(const GatedNorm& op) {
    gated_norm_kernel<<<op.rows, op.width <= 128 ? 128 : kThreads, 0, stream_>>>(op);
    launched();
}

void CudaBackend::qk_norm_rope(const QkNormRope& op) {
    const dim3 grid(static_cast<unsigned>(op.heads + op.kv_heads), static_cast<unsigned>(op.tokens));
    qk_norm_rope_kernel<<<grid, 128, static_cast<size_t>(op.head_dim) * sizeof(float), stream_>>>(op);
    launched();
}

void CudaBackend::gather_columns(const float* x, int tokens, int64_t x_stride, std::span<const int32_t> source,
                                 float* y) {
    const int count = static_cast<int>(source.size());
    if (count == 0) return;
    const dim3 grid(static_cast<unsigned>(ceil_div(count, kThreads)), static_cast<unsigned>(tokens));
    gather_kernel<<<grid, kThreads, 0, stream_>>>(x, x_stride, source.data(), count, y);
    launched();
}

void CudaBackend::add(const float* x, int64_t count, float* y) {
    if (count == 0) return;
    add_kernel<<<static_cast<unsigned>(ceil_div<int64_t>(count, kThreads)), kThreads, 0, stream_>>>(x, count, y);
    launched();
}

void CudaBackend::embed(const Matrix& table, std::span<const int32_t> ids, float* x) {
    auto* const device_ids = reinterpret_cast<int32_t*>(scratch(static_cast<int64_t>(ids.size_bytes())));
    if (device_ids == nullptr) return;
    memory_.upload(device_ids, ids.data(), ids.size_bytes());
    embed_kernel<<<static_cast<unsigned>(ids.size()), kThreads, 0, stream_>>>(device_matrix(table), device_ids, x);
    launched();
}

}  // namespace octavo::cuda
