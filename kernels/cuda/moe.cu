// The feed-forward part. Few tokens: every chosen expert's rows are read where they lie, a warp to a row. Many: tokens
// are grouped by expert and each expert's products go in tiles. The shared block is one more choice of every token.
#include <algorithm>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/gemm.cuh"

namespace octavo::cuda {
namespace {

constexpr int kFewTokens = 4;
constexpr int kWarps = 4;

// Feed-forward blocks at equal distances.
struct Blocks {
    DeviceMatrix gate, up, down;  // of the first block
    int64_t distance;             // bytes from one block to the next
};

Blocks blocks_of(std::span<const FfnMatrices> blocks) {
    const FfnMatrices& first = blocks.front();
    const int64_t distance = blocks.size() > 1 ? blocks[1].gate.data - first.gate.data : 0;
    return {device_matrix(first.gate), device_matrix(first.up), device_matrix(first.down), distance};
}

bool equally_spaced(std::span<const FfnMatrices> blocks) {
    const FfnMatrices& first = blocks.front();
    const Blocks spaced = blocks_of(blocks);
    const auto same = [](const Matrix& a, const Matrix& b, int64_t offset) {
        return a.type == b.type && a.rows == b.rows && a.cols == b.cols && b.data - a.data == offset;
    };
    for (size_t i = 0; i < blocks.size(); ++i) {
        const int64_t offset = static_cast<int64_t>(i) * spaced.distance;
        if (!same(first.gate, blocks[i].gate, offset) || !same(first.up, blocks[i].up, offset) ||
            !same(first.down, blocks[i].down, offset)) {
            return false;
        }
    }
    return true;
}

__device__ DeviceMatrix block_matrix(DeviceMatrix w, const Blocks& blocks, int index) {
    w.data += index * blocks.distance;
    return w;
}

// ---- router ----

struct Choices {
    int32_t* expert;  // [T][top_k], best first
    float* weight;    // [T][top_k]
};

// A warp to a token. A tie goes to the lower index; a logit that is not a number is never chosen before one that is.
__global__ void route_kernel(const float* logits, int tokens, int experts, int top_k, Choices to) {
    const int token = blockIdx.x * kWarps + threadIdx.x / kWarp;
    const int lane = threadIdx.x % kWarp;
    if (token >= tokens) return;
    const float* l = logits + int64_t{token} * experts;
    float best_so_far = 0;
    int last = -1;  // chosen before: everything above (value, index) in the order
    float last_value = 0;
    float sum = 0;
    for (int rank = 0; rank < top_k; ++rank) {
        float value = -INFINITY;
        int index = experts;
        for (int e = lane; e < experts; e += kWarp) {
            const bool open = last < 0 || l[e] < last_value || (l[e] == last_value && e > last);
            if (open && (index == experts || l[e] > value)) value = l[e], index = e;
        }
#pragma unroll
        for (int offset = kWarp / 2; offset > 0; offset /= 2) {
            const float other = __shfl_xor_sync(kAllLanes, value, offset);
            const int other_index = __shfl_xor_sync(kAllLanes, index, offset);
            const bool better =
                other_index < experts && (index == experts || other > value || (other == value && other_index < index));
            if (better) value = other, index = other_index;
        }
        if (index == experts) index = 0, value = -INFINITY;  // only numbers that are none are left
        if (rank == 0) best_so_far = value;
        const float weight = expf(value - best_so_far);
        sum += weight;
        if (lane == 0) {
            to.expert[int64_t{token} * top_k + rank] = index;
            to.weight[int64_t{token} * top_k + rank] = weight;
        }
        last = index;
        last_value = value;
    }
    __syncwarp();
    for (int rank = lane; rank < top_k; rank += kWarp) to.weight[int64_t{token} * top_k + rank] /= sum;
}

// ---- few tokens ----

struct Few {
    Blocks experts, shared;
    Choices choices;
    int top_k;  // 0: no experts
    bool has_shared;
    int inner_width;  // the wider of both blocks
    int hidden;
    const float* x;
    const float* shared_gate;  // may be nullptr
    float* inner;              // [T][top_k + 1][inner_width]
    float* y;

    __device__ int slots() const { return top_k + (has_shared ? 1 : 0); }
    __device__ bool is_shared(int slot) const { return slot == top_k; }
    __device__ int expert(int64_t token, int slot) const {
        return is_shared(slot) ? 0 : choices.expert[token * top_k + slot];
    }
};

template <WeightTypes types>
__global__ void few_gate_up_kernel(Few op) {
    const int64_t token = blockIdx.z;
    const int slot = blockIdx.y;
    const int64_t row = int64_t{blockIdx.x} * kWarps + threadIdx.x / kWarp;
    const Blocks& blocks = op.is_shared(slot) ? op.shared : op.experts;
    const int expert = op.expert(token, slot);
    const DeviceMatrix gate = block_matrix(blocks.gate, blocks, expert);
    const DeviceMatrix up = block_matrix(blocks.up, blocks, expert);
    if (row >= gate.rows) return;
    const float* x = op.x + token * op.hidden;
    float g = 0;
    float u = 0;
    with_weight_type<types>(gate.type, [&](auto type) { g = row_dot<decltype(type)::value>(gate, row, x); });
    with_weight_type<types>(up.type, [&](auto type) { u = row_dot<decltype(type)::value>(up, row, x); });
    if (threadIdx.x % kWarp == 0) op.inner[(token * (op.top_k + 1) + slot) * op.inner_width + row] = silu(g) * u;
}

template <WeightTypes types>
__global__ void few_down_kernel(Few op) {
    const int64_t token = blockIdx.y;
    const int64_t row = int64_t{blockIdx.x} * kWarps + threadIdx.x / kWarp;
    if (row >= op.hidden) return;
    float sum = 0;
    for (int slot = 0; slot < op.slots(); ++slot) {
        const Blocks& blocks = op.is_shared(slot) ? op.shared : op.experts;
        const DeviceMatrix down = block_matrix(blocks.down, blocks, op.expert(token, slot));
        const float* inner = op.inner + (token * (op.top_k + 1) + slot) * op.inner_width;
        float weight = 1;
        if (!op.is_shared(slot)) {
            weight = op.choices.weight[token * op.top_k + slot];
        } else if (op.shared_gate != nullptr) {
            weight = sigmoid(op.shared_gate[token]);
        }
        with_weight_type<types>(
            down.type, [&](auto type) { sum = fmaf(weight, row_dot<decltype(type)::value>(down, row, inner), sum); });
    }
    if (threadIdx.x % kWarp == 0) op.y[token * op.hidden + row] += sum;
}

// ---- many tokens ----

// Entries (token, rank) in the order of their experts: starts[experts + 1], and of each entry its token and its slot
// token * top_k + rank. One block; a thread finds the entries of one expert in the order of tokens.
__global__ void group_kernel(const int32_t* chosen, int entries, int experts, int top_k, int32_t* starts,
                             int32_t* tokens, int32_t* slots) {
    extern __shared__ int32_t counts[];  // [experts]
    for (int e = threadIdx.x; e < experts; e += blockDim.x) {
        int32_t count = 0;
        for (int i = 0; i < entries; ++i) count += chosen[i] == e;
        counts[e] = count;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        int32_t at = 0;
        for (int e = 0; e < experts; ++e) {
            starts[e] = at;
            at += counts[e];
        }
        starts[experts] = at;
    }
    __syncthreads();
    for (int e = threadIdx.x; e < experts; e += blockDim.x) {
        int32_t at = starts[e];
        for (int i = 0; i < entries; ++i) {
            if (chosen[i] != e) continue;
            tokens[at] = i / top_k;
            slots[at++] = i;
        }
    }
}

__global__ void silu_product_kernel(float* gate, const float* up, int64_t count) {
    const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < count) gate[i] = silu(gate[i]) * up[i];
}

// y += the weighted results of the chosen experts, best first, then of the shared block.
__global__ void combine_kernel(const float* results, const float* weights, int top_k, const float* shared,
                               const float* shared_gate, int hidden, float* y) {
    const int64_t token = blockIdx.y;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= hidden) return;
    float sum = 0;
    for (int rank = 0; rank < top_k; ++rank) {
        sum = fmaf(weights[token * top_k + rank], results[(token * top_k + rank) * hidden + i], sum);
    }
    if (shared != nullptr) {
        const float gate = shared_gate == nullptr ? 1.0f : sigmoid(shared_gate[token]);
        sum = fmaf(gate, shared[token * hidden + i], sum);
    }
    y[token * hidden + i] += sum;
}

// Hands out parts of the scratch.
class Parts {
  public:
    explicit Parts(std::byte* base) : base_(base) {}
    template <class T>
    T* take(int64_t count) {
        std::byte* part = base_ == nullptr ? nullptr : base_ + used_;
        used_ += (count * static_cast<int64_t>(sizeof(T)) + 255) / 256 * 256;
        return reinterpret_cast<T*>(part);
    }
    int64_t bytes() const { return used_; }

  private:
    std::byte* base_;
    int64_t used_ = 0;
};

struct Scratch {
    Choices choices;
    int32_t *starts, *tokens, *slots;
    float *gate, *up;         // [entries][ff]; also of the shared block
    float *results, *shared;  // [entries][hidden], [T][hidden]
    uint16_t* factors;        // of x [T][hidden], then of the inner values [entries][ff]
    int64_t bytes;

    Scratch(const Moe& op, std::byte* base) {
        Parts parts(base);
        const int64_t experts = std::ssize(op.experts);
        const int64_t entries = experts > 0 ? int64_t{op.tokens} * op.top_k : 0;
        const int64_t expert_ff = experts > 0 ? op.experts.front().gate.rows : 0;
        const int64_t shared_ff = op.shared != nullptr ? op.shared->gate.rows : 0;
        choices = {parts.take<int32_t>(entries), parts.take<float>(entries)};
        if (op.tokens <= kFewTokens) {
            gate = parts.take<float>(op.tokens * (op.top_k + 1) * std::max(expert_ff, shared_ff));
        } else {
            starts = parts.take<int32_t>(experts + 1);
            tokens = parts.take<int32_t>(entries);
            slots = parts.take<int32_t>(entries);
            const int64_t inner = std::max(entries * expert_ff, op.tokens * shared_ff);
            gate = parts.take<float>(inner);
            up = parts.take<float>(inner);
            results = parts.take<float>(entries * op.hidden);
            shared = parts.take<float>(shared_ff > 0 ? op.tokens * int64_t{op.hidden} : 0);
            factors =
                parts.take<uint16_t>(std::max({op.tokens * factor_stride(op.hidden), entries * factor_stride(expert_ff),
                                               op.tokens * factor_stride(shared_ff)}));
        }
        bytes = parts.bytes();
    }
};

void few_tokens(const Moe& op, int top_k, const Scratch& s, cudaStream_t stream) {
    Few few = {};
    if (top_k > 0) few.experts = blocks_of(op.experts);
    few.has_shared = op.shared != nullptr;
    if (few.has_shared) few.shared = blocks_of(std::span(op.shared, 1));
    few.choices = s.choices;
    few.top_k = top_k;
    few.inner_width = static_cast<int>(std::max(few.experts.gate.rows, few.shared.gate.rows));
    few.hidden = op.hidden;
    few.x = op.x;
    few.shared_gate = op.shared_gate;
    few.inner = s.gate;
    few.y = op.y;
    const auto slots = static_cast<unsigned>(top_k + (few.has_shared ? 1 : 0));
    const auto tokens = static_cast<unsigned>(op.tokens);
    const auto rows = static_cast<unsigned>(ceil_div(few.inner_width, kWarps));
    const dim3 inner_grid(rows, slots, tokens);
    const dim3 grid(static_cast<unsigned>(ceil_div(op.hidden, kWarps)), tokens);
    const auto launch = [&]<WeightTypes types>() {
        few_gate_up_kernel<types><<<inner_grid, kWarps * kWarp, 0, stream>>>(few);
        few_down_kernel<types><<<grid, kWarps * kWarp, 0, stream>>>(few);
    };
    const auto simple = [](const Blocks& b) {
        return is_simple(b.gate.type) && is_simple(b.up.type) && is_simple(b.down.type);
    };
    if ((top_k == 0 || simple(few.experts)) && (!few.has_shared || simple(few.shared))) {
        launch.template operator()<WeightTypes::simple>();
    } else {
        launch.template operator()<WeightTypes::all>();
    }
}

// inner = silu(gate x) * (up x), then down; groups as in `shape`, whose x and lists are those of the first products.
void block_products(const Blocks& blocks, Gemm shape, int64_t entries, int64_t x_rows, const Scratch& s, float* results,
                    const int32_t* result_rows, bool float32, cudaStream_t stream) {
    const auto take_factors = [&](int64_t rows, int64_t cols) {
        if (float32) return;
        make_factors(shape.x, rows, cols, shape.x_stride, s.factors, stream);
        shape.factors = s.factors;
        shape.factor_stride = factor_stride(cols);
    };
    const int64_t ff = blocks.gate.rows;
    shape.y_stride = ff;
    take_factors(x_rows, blocks.gate.cols);
    for (const auto& [w, y] : {std::pair(blocks.gate, s.gate), std::pair(blocks.up, s.up)}) {
        shape.w = w;
        shape.y = y;
        run_gemm(shape, stream);
    }
    constexpr int kThreads = 256;
    const auto grid = static_cast<unsigned>(ceil_div<int64_t>(entries * ff, kThreads));
    silu_product_kernel<<<grid, kThreads, 0, stream>>>(s.gate, s.up, entries * ff);
    shape.w = blocks.down;
    shape.x = s.gate;
    shape.x_stride = ff;
    shape.x_tokens = nullptr;
    take_factors(entries, ff);
    shape.y = results;
    shape.y_stride = blocks.down.rows;
    shape.y_tokens = result_rows;
    run_gemm(shape, stream);
}

void many_tokens(const Moe& op, int top_k, const Scratch& s, bool float32, cudaStream_t stream) {
    Gemm shape;
    shape.x = op.x;
    shape.x_stride = op.hidden;
    shape.tokens = shape.usual_tokens = op.tokens;
    const int experts = static_cast<int>(op.experts.size());
    const int entries = op.tokens * top_k;
    if (top_k > 0) {
        const Blocks blocks = blocks_of(op.experts);
        const auto threads = static_cast<unsigned>(std::min(1024, ceil_div(experts, kWarp) * kWarp));
        group_kernel<<<1, threads, static_cast<size_t>(experts) * sizeof(int32_t), stream>>>(
            s.choices.expert, entries, experts, top_k, s.starts, s.tokens, s.slots);
        Gemm grouped = shape;
        grouped.groups = experts;
        grouped.group_bytes = blocks.distance;
        grouped.starts = s.starts;
        grouped.x_tokens = s.tokens;
        grouped.usual_tokens = ceil_div(entries, experts);
        block_products(blocks, grouped, entries, op.tokens, s, s.results, s.slots, float32, stream);
    }
    if (op.shared != nullptr) {
        block_products(blocks_of(std::span(op.shared, 1)), shape, op.tokens, op.tokens, s, s.shared, nullptr, float32,
                       stream);
    }
    constexpr int kThreads = 256;
    const dim3 grid(static_cast<unsigned>(ceil_div(op.hidden, kThreads)), static_cast<unsigned>(op.tokens));
    combine_kernel<<<grid, kThreads, 0, stream>>>(
        s.results, s.choices.weight, top_k, op.shared != nullptr ? s.shared : nullptr, op.shared_gate, op.hidden, op.y);
}

}  // namespace

void CudaBackend::moe(const Moe& op) {
    const int experts = static_cast<int>(op.experts.size());
    const int top_k = std::min(op.top_k, experts);
    if (experts > 0 && !equally_spaced(op.experts)) {
        refused_ = Error{ErrorKind::device,
                         "The experts of a layer do not lie at equal distances in GPU memory; this is "
                         "a fault of the program."};
        return;
    }
    Moe sized = op;
    sized.top_k = top_k;
    std::byte* const base = scratch(std::max<int64_t>(256, Scratch(sized, nullptr).bytes));
    if (base == nullptr) return;
    const Scratch parts(sized, base);
    if (top_k > 0) {
        route_kernel<<<static_cast<unsigned>(ceil_div(op.tokens, kWarps)), kWarps * kWarp, 0, stream_>>>(
            op.router_logits, op.tokens, experts, top_k, parts.choices);
    }
    if (op.tokens <= kFewTokens) {
        few_tokens(op, top_k, parts, stream_);
    } else {
        many_tokens(op, top_k, parts, float32_, stream_);
    }
    launched();
}

}  // namespace octavo::cuda
