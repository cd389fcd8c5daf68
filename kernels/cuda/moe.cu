// The feed-forward part: the choice of experts, and the products of many tokens, which are grouped by expert; each
// expert's products go in tiles. Few tokens: moe_few.cu.
#include <algorithm>
#include <utility>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/gemm.cuh"
#include "kernels/cuda/moe.cuh"

namespace octavo::cuda {
namespace {

constexpr int kWarps = 4;

// How many experts from number `first` on are here, of one shape and at equal distances; those with scales of their own
// need an array of them.
int run_length(const Moe& op, int first) {
    const FfnMatrices* const run = &op.experts[static_cast<size_t>(first)];
    const int left = static_cast<int>(op.experts.size()) - first;
    if (run->absent() || left == 1 || run[1].absent()) return run->absent() ? 0 : 1;
    const int64_t distance = run[1].gate.data - run->gate.data;
    const auto follows = [&](const Matrix& a, const Matrix& b, int64_t offset) {
        return a.type == b.type && a.rows == b.rows && a.cols == b.cols && b.data - a.data == offset &&
               (a.scale_bytes() == 0 || b.block_scales - a.block_scales == offset) &&
               (op.expert_scales != nullptr || a.scale == b.scale);
    };
    int length = 1;
    for (; length < left && !run[length].absent(); ++length) {
        const int64_t offset = length * distance;
        if (!follows(run->gate, run[length].gate, offset) || !follows(run->up, run[length].up, offset) ||
            !follows(run->down, run[length].down, offset)) {
            break;
        }
    }
    return length;
}

// ---- router ----

// Numbers as keys in their order; 0: not a number, or chosen before.
__device__ uint32_t key_of(float value) {
    const uint32_t bits = __float_as_uint(value + 0.0f);  // minus 0 counts as 0
    if (isnan(value)) return 0;
    return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}
__device__ float number_of(uint32_t key) {
    return __uint_as_float((key & 0x80000000u) != 0 ? key & 0x7fffffffu : ~key);
}

// A warp to a token. A tie goes to the lower index; a logit that is not a number is never chosen before one that is.
__global__ void route_kernel(const float* logits, int tokens, int experts, int top_k, Choices to) {
    extern __shared__ uint32_t keys[];  // [kWarps][experts]; a lane looks at every 32nd
    const int token = blockIdx.x * kWarps + threadIdx.x / kWarp;
    const int lane = threadIdx.x % kWarp;
    if (token >= tokens) return;
    uint32_t* const mine = keys + threadIdx.x / kWarp * experts;
    for (int e = lane; e < experts; e += kWarp) mine[e] = key_of(logits[int64_t{token} * experts + e]);
    int32_t* const chosen = to.expert + int64_t{token} * top_k;
    float* const weights = to.weight + int64_t{token} * top_k;
    float best_of_all = 0;
    float sum = 0;
    for (int rank = 0; rank < top_k; ++rank) {
        unsigned long long best = 0;  // key, then the index, the lower the larger
        for (int e = lane; e < experts; e += kWarp) {
            best = max(best, static_cast<unsigned long long>(mine[e]) << 32 | ~static_cast<uint32_t>(e));
        }
#pragma unroll
        for (int offset = kWarp / 2; offset > 0; offset /= 2)
            best = max(best, __shfl_xor_sync(kAllLanes, best, offset));
        const auto key = static_cast<uint32_t>(best >> 32);  // 0: only what is not a number is left
        const int index = key == 0 ? 0 : static_cast<int>(~static_cast<uint32_t>(best));
        const float value = key == 0 ? -INFINITY : number_of(key);
        if (rank == 0) best_of_all = value;
        const float weight = expf(value - best_of_all);
        sum += weight;
        if (key != 0 && lane == index % kWarp) mine[index] = 0;
        if (lane == rank % kWarp) chosen[rank] = index, weights[rank] = weight;
    }
    for (int rank = lane; rank < top_k; rank += kWarp) weights[rank] /= sum;
}

// ---- many tokens ----

// Calls found(entry, whether it chose the expert, the lanes whose entries did) in every lane of the warp, 32 entries at
// a time.
template <class Found>
__device__ void for_entries_of(int expert, const int32_t* chosen, int entries, Found&& found) {
#pragma unroll 16
    for (int first = 0; first < entries; first += kWarp) {
        const int entry = first + static_cast<int>(threadIdx.x) % kWarp;
        const bool here = entry < entries && __ldg(chosen + entry) == expert;
        found(entry, here, __ballot_sync(kAllLanes, here));
    }
}

// Entries of each of the `experts` from `first_expert` on, a warp to an expert.
__global__ void count_kernel(const int32_t* chosen, int entries, int first_expert, int experts, int32_t* counts) {
    const int expert = blockIdx.x * kWarps + threadIdx.x / kWarp;
    if (expert >= experts) return;
    int count = 0;
    for_entries_of(first_expert + expert, chosen, entries, [&](int, bool, unsigned all) { count += __popc(all); });
    if (threadIdx.x % kWarp == 0) counts[expert] = count;
}

// Entries (token, rank) in the order of these experts, of each in the order of tokens: of each entry its token and its
// slot token * top_k + rank; and the experts' entries in tiles of at most `tile`. A warp to an expert.
__global__ void group_kernel(const int32_t* chosen, int entries, int first_expert, int experts, int top_k,
                             const int32_t* counts, int tile, int most_tiles, GemmTile* tiles, int32_t* tokens,
                             int32_t* slots) {
    const int expert = blockIdx.x * kWarps + threadIdx.x / kWarp;
    const int lane = threadIdx.x % kWarp;
    if (expert >= experts) return;
    int before = 0, tiles_before = 0;
    for (int e = lane; e < expert; e += kWarp) before += counts[e], tiles_before += ceil_div(counts[e], tile);
#pragma unroll
    for (int offset = kWarp / 2; offset > 0; offset /= 2) {
        before += __shfl_xor_sync(kAllLanes, before, offset);
        tiles_before += __shfl_xor_sync(kAllLanes, tiles_before, offset);
    }
    const int mine = ceil_div(counts[expert], tile);
    const int written = expert == experts - 1 ? most_tiles - tiles_before : mine;  // the last one adds empty ones
    for (int i = lane; i < written; i += kWarp) {
        tiles[tiles_before + i] = {expert, before + i * tile, min(tile, counts[expert] - i * tile)};
    }
    for_entries_of(first_expert + expert, chosen, entries, [&](int entry, bool here, unsigned all) {
        const int at = before + __popc(all & ((1u << lane) - 1));
        if (here) tokens[at] = entry / top_k, slots[at] = entry;
        before += __popc(all);
    });
}

__global__ void silu_product_kernel(float* gate, const float* up, int64_t count) {
    const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < count) gate[i] = silu(gate[i]) * up[i];
}

// y += the weighted results of the chosen experts that are among `experts`, best first, then of the shared block.
__global__ void combine_kernel(const float* results, Choices choices, Blocks experts, int top_k, const float* shared,
                               const float* shared_gate, int hidden, float* y) {
    const int64_t token = blockIdx.y;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= hidden) return;
    float sum = 0;
    for (int rank = 0; rank < top_k; ++rank) {
        const int64_t choice = token * top_k + rank;
        if (!experts.has(choices.expert[choice])) continue;
        sum = fmaf(choices.weight[choice], results[choice * hidden + i], sum);
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

// Of `entries` in groups of the usual size, or fewer experts' share of them.
int64_t most_tiles(int64_t experts, int64_t entries) { return experts + entries / gemm_tile(0); }

struct Scratch {
    Choices choices;
    int32_t *counts, *tokens, *slots;
    GemmTile* tiles;
    float *gate, *up;         // [entries][ff]; also of the shared block
    float *results, *shared;  // [entries][hidden], [T][hidden]
    std::byte* factors;       // of x [T][hidden], then of the inner values [entries][ff]
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
            counts = parts.take<int32_t>(experts);
            tiles = parts.take<GemmTile>(most_tiles(experts, entries));
            tokens = parts.take<int32_t>(entries);
            slots = parts.take<int32_t>(entries);
            const int64_t inner = std::max(entries * expert_ff, op.tokens * shared_ff);
            gate = parts.take<float>(inner);
            up = parts.take<float>(inner);
            results = parts.take<float>(entries * op.hidden);
            shared = parts.take<float>(shared_ff > 0 ? op.tokens * int64_t{op.hidden} : 0);
            factors =
                parts.take<std::byte>(std::max({factor_bytes(op.tokens, op.hidden), factor_bytes(entries, expert_ff),
                                                factor_bytes(op.tokens, shared_ff)}));
        }
        bytes = parts.bytes();
    }
};

void few_tokens(const Moe& op, const Blocks& experts, const Scratch& s, const FewTokensWays& ways,
                cudaStream_t stream) {
    FewTokensMoe few = {};
    few.experts = experts;
    few.has_shared = op.shared != nullptr;
    if (few.has_shared) few.shared = blocks_of(std::span(op.shared, 1), 0, 1, nullptr);
    few.choices = s.choices;
    few.top_k = experts.count > 0 ? op.top_k : 0;
    few.tokens = op.tokens;
    few.hidden = op.hidden;
    few.x = op.x;
    few.shared_gate = op.shared_gate;
    few.inner = s.gate;
    few.y = op.y;
    run_few_tokens(few, ways, stream);
}

// inner = silu(gate x) * (up x), then down; groups as in `shape`, whose x and lists are those of the first products.
void block_products(const Blocks& blocks, Gemm shape, int64_t entries, int64_t x_rows, const Scratch& s, float* results,
                    const int32_t* result_rows, bool float32, cudaStream_t stream) {
    const auto take_factors = [&](int64_t rows, int64_t cols) {
        if (float32) return;
        shape.factors = make_factors(shape.x, rows, cols, shape.x_stride, s.factors, stream);
    };
    const int64_t ff = blocks.parts[kGate].rows;
    shape.y_stride = ff;
    take_factors(x_rows, blocks.parts[kGate].cols);
    const auto take = [&](FfnPart part, float* y) {
        shape.w = blocks.parts[part];
        shape.group_scales = blocks.scales_of(part);
        shape.y = y;
    };
    take(kGate, s.gate);
    if (blocks.parts[kUp].type == blocks.parts[kGate].type) {
        shape.twin = {blocks.parts[kUp], blocks.scales_of(kUp), s.up};
    } else {
        run_gemm(shape, stream);
        take(kUp, s.up);
    }
    run_gemm(shape, stream);
    shape.twin = {};
    constexpr int kThreads = 256;
    const auto grid = static_cast<unsigned>(ceil_div<int64_t>(entries * ff, kThreads));
    silu_product_kernel<<<grid, kThreads, 0, stream>>>(s.gate, s.up, entries * ff);
    shape.x = s.gate;
    shape.x_stride = ff;
    shape.x_tokens = nullptr;
    take_factors(entries, ff);
    shape.y_stride = blocks.parts[kDown].rows;
    shape.y_tokens = result_rows;
    take(kDown, results);
    run_gemm(shape, stream);
}

void many_tokens(const Moe& op, const Blocks& experts, const Scratch& s, bool float32, cudaStream_t stream) {
    Gemm shape;
    shape.x = op.x;
    shape.x_stride = op.hidden;
    shape.tokens = shape.usual_tokens = op.tokens;
    const int top_k = experts.count > 0 ? op.top_k : 0;
    const int entries = op.tokens * top_k;
    if (top_k > 0) {
        const auto grid = static_cast<unsigned>(ceil_div(experts.count, kWarps));
        count_kernel<<<grid, kWarps * kWarp, 0, stream>>>(s.choices.expert, entries, experts.first, experts.count,
                                                          s.counts);
        Gemm grouped = shape;
        grouped.tokens = entries;
        grouped.usual_tokens = ceil_div(entries, static_cast<int>(op.experts.size()));
        grouped.group_bytes = experts.distance;
        const int tile = gemm_tile(grouped.usual_tokens);
        grouped.tiles = s.tiles;
        grouped.most_tiles = static_cast<int>(experts.count + entries / tile);
        grouped.x_tokens = s.tokens;
        group_kernel<<<grid, kWarps * kWarp, 0, stream>>>(s.choices.expert, entries, experts.first, experts.count,
                                                          top_k, s.counts, tile, grouped.most_tiles, s.tiles, s.tokens,
                                                          s.slots);
        block_products(experts, grouped, entries, op.tokens, s, s.results, s.slots, float32, stream);
    }
    if (op.shared != nullptr) {
        block_products(blocks_of(std::span(op.shared, 1), 0, 1, nullptr), shape, op.tokens, op.tokens, s, s.shared,
                       nullptr, float32, stream);
    }
    constexpr int kThreads = 256;
    const dim3 grid(static_cast<unsigned>(ceil_div(op.hidden, kThreads)), static_cast<unsigned>(op.tokens));
    combine_kernel<<<grid, kThreads, 0, stream>>>(s.results, s.choices, experts, top_k,
                                                  op.shared != nullptr ? s.shared : nullptr, op.shared_gate, op.hidden,
                                                  op.y);
}

}  // namespace

// Experts that do not lie at equal distances are computed in runs that do, one run after the other.
void CudaBackend::moe(const Moe& op) {
    const int experts = static_cast<int>(op.experts.size());
    Moe sized = op;
    sized.top_k = std::min(op.top_k, experts);
    std::byte* const base = scratch(std::max<int64_t>(256, Scratch(sized, nullptr).bytes));
    if (base == nullptr) return;
    const Scratch parts(sized, base);
    const auto compute = [&](const Moe& part, const Blocks& run) {
        if (op.tokens <= kFewTokens) {
            few_tokens(part, run, parts, few_tokens_ways(), stream_);
        } else {
            many_tokens(part, run, parts, float32_, stream_);
        }
        launched();
    };
    bool routed = false;
    for (int first = 0, count = 1; first < experts; first += std::max(1, count)) {
        count = run_length(op, first);
        if (count == 0) continue;
        if (!std::exchange(routed, true)) {
            const auto blocks = static_cast<unsigned>(ceil_div(op.tokens, kWarps));
            const auto shared_bytes = static_cast<size_t>(kWarps * experts) * sizeof(uint32_t);
            route_kernel<<<blocks, kWarps * kWarp, shared_bytes, stream_>>>(op.router_logits, op.tokens, experts,
                                                                            sized.top_k, parts.choices);
        }
        compute(sized, blocks_of(op.experts, first, count, op.expert_scales));
        sized.shared = nullptr;  // once is enough
    }
    if (sized.shared != nullptr) compute(sized, Blocks{});
}

}  // namespace octavo::cuda
