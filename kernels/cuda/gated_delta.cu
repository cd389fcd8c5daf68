// The delta rule. Recurrent form: columns of the state do not depend on each other, so a warp carries four of them
// through all tokens in registers, and the state is read and written once a call.
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/gated_delta.cuh"

namespace octavo::cuda {
namespace {

constexpr int kColumns = 4;         // of the state, to a warp
constexpr int kWarps = 4;           // to a block
constexpr int kMaxKeysPerLane = 8;  // key_dim <= 256

__global__ void prepare_kernel(GatedDelta op, Prepared to, bool chunked) {
    __shared__ float shared[kWarp];
    const int64_t token = blockIdx.y;
    const int64_t width = 2 * int64_t{op.key_heads} * op.key_dim + int64_t{op.value_heads} * op.value_dim;
    const int row = blockIdx.x;  // q heads, k heads, then one block for the gates
    if (row == 2 * op.key_heads) {
        for (int head = threadIdx.x; head < op.value_heads; head += blockDim.x) {
            const int64_t at = token * op.value_heads + head;
            to.beta[at] = sigmoid(op.b[at]);
            const float g = op.a_scale[head] * softplus(op.a[at] + op.dt_bias[head]);
            to.decay[at] = chunked ? g : expf(g);
        }
        return;
    }
    const float* x = op.qkv + token * width + int64_t{row} * op.key_dim;
    float sum = 0;
    for (int i = threadIdx.x; i < op.key_dim; i += blockDim.x) sum = fmaf(x[i], x[i], sum);
    const bool is_q = row < op.key_heads;
    float factor = 1.0f / sqrtf(block_sum(sum, shared) + 1e-6f);
    if (is_q) factor /= sqrtf(static_cast<float>(op.key_dim));
    const int head = is_q ? row : row - op.key_heads;
    float* y = (is_q ? to.q : to.k) + (token * op.key_heads + head) * op.key_dim;
    for (int i = threadIdx.x; i < op.key_dim; i += blockDim.x) y[i] = x[i] * factor;
}

// Sums of four values over the warp, each the same in all lanes.
__device__ void sum_columns(float (&values)[kColumns]) {
#pragma unroll
    for (int offset = kWarp / 2; offset > 0; offset /= 2) {
#pragma unroll
        for (int c = 0; c < kColumns; ++c) values[c] += __shfl_xor_sync(kAllLanes, values[c], offset);
    }
}

// Columns of one row of the state; `wide`: there are four, aligned.
__device__ void load_columns(const float* row, int columns, bool wide, float (&to)[kColumns]) {
    static_assert(kColumns == 4);
    if (wide && columns > 0) {
        const float4 four = *reinterpret_cast<const float4*>(row);
        to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
        return;
    }
#pragma unroll
    for (int c = 0; c < kColumns; ++c) to[c] = c < columns ? row[c] : 0.0f;
}
__device__ void store_columns(float* row, int columns, bool wide, const float (&from)[kColumns]) {
    if (wide && columns > 0) {
        *reinterpret_cast<float4*>(row) = {from[0], from[1], from[2], from[3]};
        return;
    }
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
        if (c < columns) row[c] = from[c];
    }
}

// keys: of a lane, at most; lane l holds keys l, l + 32, ...
template <int keys>
__global__ void __launch_bounds__(kWarps* kWarp) recurrent_kernel(GatedDelta op, Prepared from) {
    const int lane = threadIdx.x % kWarp;
    const int head = blockIdx.y;
    const int first = (blockIdx.x * kWarps + threadIdx.x / kWarp) * kColumns;  // column
    if (first >= op.value_dim) return;
    const int columns = min(kColumns, op.value_dim - first);
    const int key_head = op.key_head_of_value_head[head];
    const int64_t width = 2 * int64_t{op.key_heads} * op.key_dim + int64_t{op.value_heads} * op.value_dim;
    const float* v = op.qkv + 2 * int64_t{op.key_heads} * op.key_dim + int64_t{head} * op.value_dim + first;
    const int64_t key_width = int64_t{op.key_heads} * op.key_dim;
    const float* q = from.q + int64_t{key_head} * op.key_dim;
    const float* k = from.k + int64_t{key_head} * op.key_dim;
    float* state = op.state + int64_t{head} * op.key_dim * op.value_dim + first;
    float* out = op.out + int64_t{head} * op.value_dim + first;

    const bool wide = op.value_dim % kColumns == 0;  // then every row of four starts at a multiple of 16 bytes
    float s[keys][kColumns];
#pragma unroll
    for (int i = 0; i < keys; ++i) {
        const int key = lane + i * kWarp;
        load_columns(state + int64_t{key} * op.value_dim, key < op.key_dim ? columns : 0, wide, s[i]);
    }
    for (int64_t t = 0; t < op.tokens; ++t) {
        const float decay = from.decay[t * op.value_heads + head];
        const float beta = from.beta[t * op.value_heads + head];
        float kt[keys], qt[keys];
        float memory[kColumns] = {};
#pragma unroll
        for (int i = 0; i < keys; ++i) {
            const int key = lane + i * kWarp;
            kt[i] = key < op.key_dim ? k[t * key_width + key] : 0.0f;
            qt[i] = key < op.key_dim ? q[t * key_width + key] : 0.0f;
#pragma unroll
            for (int c = 0; c < kColumns; ++c) {
                s[i][c] *= decay;
                memory[c] = fmaf(s[i][c], kt[i], memory[c]);
            }
        }
        sum_columns(memory);
        float answer[kColumns] = {};
#pragma unroll
        for (int c = 0; c < kColumns; ++c) {
            const float value = c < columns ? v[t * width + c] : 0.0f;
            const float write = beta * (value - memory[c]);
#pragma unroll
            for (int i = 0; i < keys; ++i) {
                s[i][c] = fmaf(kt[i], write, s[i][c]);
                answer[c] = fmaf(s[i][c], qt[i], answer[c]);
            }
        }
        sum_columns(answer);
#pragma unroll
        for (int c = 0; c < kColumns; ++c) {
            if (lane == c && c < columns) out[t * op.value_heads * op.value_dim + c] = answer[c];
        }
    }
#pragma unroll
    for (int i = 0; i < keys; ++i) {
        const int key = lane + i * kWarp;
        store_columns(state + int64_t{key} * op.value_dim, key < op.key_dim ? columns : 0, wide, s[i]);
    }
}

}  // namespace

void CudaBackend::gated_delta(const GatedDelta& op) {
    constexpr int kManyTokens = 64;
    const bool wanted = op.form == DeltaForm::chunked || (op.form == DeltaForm::automatic && op.tokens >= kManyTokens);
    const bool chunked = wanted && !float32_ && compute_capability_ >= 80 && runs_chunked(op);
    const int64_t keys = int64_t{op.tokens} * op.key_heads * op.key_dim;
    const int64_t gates = (int64_t{op.tokens} * op.value_heads + 3) / 4 * 4;
    const int64_t prepared_bytes = (2 * keys + 2 * gates) * static_cast<int64_t>(sizeof(float));
    std::byte* const base = scratch(prepared_bytes + (chunked ? chunked_scratch_bytes(op) : 0));
    if (base == nullptr) return;
    auto* const floats = reinterpret_cast<float*>(base);
    const Prepared prepared{floats, floats + keys, floats + 2 * keys, floats + 2 * keys + gates};
    const dim3 rows(static_cast<unsigned>(2 * op.key_heads + 1), static_cast<unsigned>(op.tokens));
    prepare_kernel<<<rows, 128, 0, stream_>>>(op, prepared, chunked);
    launched();
    if (chunked) {
        run_chunked(op, prepared, base + prepared_bytes, stream_);
        launched();
        return;
    }
    const dim3 grid(static_cast<unsigned>(ceil_div(op.value_dim, kColumns * kWarps)),
                    static_cast<unsigned>(op.value_heads));
    const int per_lane = ceil_div(op.key_dim, kWarp);
    if (per_lane <= 1) {
        recurrent_kernel<1><<<grid, kWarps * kWarp, 0, stream_>>>(op, prepared);
    } else if (per_lane <= 2) {
        recurrent_kernel<2><<<grid, kWarps * kWarp, 0, stream_>>>(op, prepared);
    } else if (per_lane <= 4) {
        recurrent_kernel<4><<<grid, kWarps * kWarp, 0, stream_>>>(op, prepared);
    } else if (per_lane <= kMaxKeysPerLane) {
        recurrent_kernel<kMaxKeysPerLane><<<grid, kWarps * kWarp, 0, stream_>>>(op, prepared);
    } else {
        refused_ =
            Error{ErrorKind::device, "Key heads of more than 256 values do not run on the GPU; use --device cpu."};
        return;
    }
    launched();
}

}  // namespace octavo::cuda
