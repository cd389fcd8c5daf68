// The next token, drawn where the logits are, by the arithmetic of kernels/sampling.h. Each filter is a search for one
// cut in the ranking, a byte of the logits' order a pass: all blocks add up what lies in each of 256 bins, and whoever
// comes next reads from the bins which one holds the cut. Sums are of whole numbers, so their order does not matter.
#include <algorithm>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/device.cuh"

namespace octavo::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kBins = 256;
constexpr int kPasses = 4;  // bytes of a rank
constexpr int kMostBlocks = 128;

using Sum = unsigned long long;

// Of each block of ids, what is left when all is filtered.
struct BlockSums {
    Sum weights[kMostBlocks];
    Sum equals[kMostBlocks];  // tokens at the cut
};

// What the kernels of one draw leave to each other.
struct Draw {
    Sum best;                     // its rank, then the id from the end: the first of equals is the greatest; 0: none
    Sum counts[kPasses][kBins];   // tokens by the next byte of their rank
    Sum weights[kPasses][kBins];  // their weights, of what top-k leaves
    BlockSums blocks;
    float saved[kMostPenalised];  // logits without penalty
};

struct Op {
    Sampling sampling;
    Draw* draw;
    int ids_per_block;  // a block's ids follow each other
};

// A prefix of the ranking: all above `rank`, and of those with just this rank the first `equals` in the order of ids.
struct Cut {
    uint32_t rank = kLeastRank;
    Sum equals = 0;
};

__device__ Sum warp_prefix(Sum value) {  // with the lane's own
#pragma unroll
    for (int offset = 1; offset < kWarp; offset *= 2) {
        const Sum before = __shfl_up_sync(kAllLanes, value, offset);
        if (static_cast<int>(threadIdx.x) % kWarp >= offset) value += before;
    }
    return value;
}

// Functions of a whole warp, the same in every lane, from here to final_cut.

// Where the sums of the bins, from the highest on, reach `wanted`: the first `passes` bytes of that rank. Leaves of
// `wanted` what the bin itself must hold. The last lane's bins are the lowest; a lane's own come in falling order.
__device__ uint32_t prefix_at(const Sum (*bins)[kBins], int passes, Sum& wanted) {
    constexpr int kOwn = kBins / kWarp;
    const int lane = threadIdx.x % kWarp;
    uint32_t prefix = 0;
    for (int pass = 0; pass < passes; ++pass) {
        const Sum* const highest = &bins[pass][kBins - 1 - lane * kOwn];
        Sum own[kOwn];
        Sum sum = 0;
#pragma unroll
        for (int i = 0; i < kOwn; ++i) sum += own[i] = highest[-i];
        const Sum above = warp_prefix(sum) - sum;
        const unsigned reached = __ballot_sync(kAllLanes, above + sum >= wanted);
        const int found = reached == 0 ? kWarp - 1 : __ffs(static_cast<int>(reached)) - 1;
        Sum left = wanted - above;
        int bin = kBins - 1 - lane * kOwn;
#pragma unroll
        for (int i = 0; i + 1 < kOwn; ++i) {
            if (own[i] >= left || bin != kBins - 1 - lane * kOwn - i) continue;
            left -= own[i];
            --bin;
        }
        wanted = __shfl_sync(kAllLanes, left, found);
        prefix = prefix << 8 | static_cast<uint32_t>(__shfl_sync(kAllLanes, bin, found));
    }
    return prefix;
}

__device__ uint32_t best_rank(const Op& op) { return static_cast<uint32_t>(op.draw->best >> 32); }
__device__ float best_logit(const Op& op) { return logit_of_rank(best_rank(op)); }
__device__ Sum weight_of(const Op& op, uint32_t rank) {
    return sampling_weight(logit_of_rank(rank), best_logit(op), op.sampling.rule.temperature);
}
// Nothing to weigh: the best token is the answer.
__device__ bool only_best(const Op& op) {
    return op.sampling.rule.temperature == 0 || best_rank(op) <= kLeastRank || isinf(best_logit(op));
}

__device__ Cut top_k_cut(const Op& op) {
    Cut cut;
    if (op.sampling.rule.top_k == 0 || op.sampling.rule.top_k >= op.sampling.vocab) return cut;
    Sum wanted = static_cast<Sum>(op.sampling.rule.top_k);
    const uint32_t rank = prefix_at(op.draw->counts, kPasses, wanted);
    return rank > kLeastRank ? Cut{rank, wanted} : cut;
}

__device__ Sum total_weight(const Op& op) {
    Sum total = 0;
    for (int i = threadIdx.x % kWarp; i < kBins; i += kWarp) total += op.draw->weights[0][i];
    return __shfl_sync(kAllLanes, warp_prefix(total), kWarp - 1);
}

// Of top-k and top-p, the one that leaves less.
__device__ Cut final_cut(const Op& op) {
    const Cut by_count = top_k_cut(op);
    if (op.sampling.rule.top_p >= 1) return by_count;
    Sum mass = top_p_mass(op.sampling.rule.top_p, total_weight(op));
    Cut cut;
    cut.rank = prefix_at(op.draw->weights, kPasses, mass);
    const Sum weight = weight_of(op, cut.rank);
    cut.equals = weight > 0 ? (mass + weight - 1) / weight : 0;
    if (cut.rank > by_count.rank) return cut;
    if (cut.rank == by_count.rank) cut.equals = min(cut.equals, by_count.equals);
    return cut.rank < by_count.rank ? by_count : cut;
}

__device__ int first_id(const Op& op) { return static_cast<int>(blockIdx.x) * op.ids_per_block; }
__device__ int end_id(const Op& op) { return min(first_id(op) + op.ids_per_block, op.sampling.vocab); }

__global__ void penalise_kernel(Op op, bool undo) {
    const Sampling& s = op.sampling;
    for (int i = threadIdx.x; i < s.input->penalised_count; i += blockDim.x) {
        float& logit = s.logits[s.input->penalised[i]];
        if (!undo) op.draw->saved[i] = logit;
        logit = undo ? op.draw->saved[i] : penalised_logit(logit, s.rule.repeat_penalty);
    }
}

__global__ void best_kernel(Op op) {
    Sum best = 0;
    for (int id = first_id(op) + static_cast<int>(threadIdx.x); id < end_id(op); id += blockDim.x) {
        const Sum from_end = static_cast<Sum>(op.sampling.vocab - 1 - id);
        best = max(best, Sum{rank_of_logit(op.sampling.logits[id])} << 32 | from_end);
    }
#pragma unroll
    for (int offset = kWarp / 2; offset > 0; offset /= 2) best = max(best, __shfl_xor_sync(kAllLanes, best, offset));
    if (threadIdx.x % kWarp == 0) atomicMax(&op.draw->best, best);
}

// Pass `pass` of the search by weight, or by count.
template <bool by_weight>
__global__ void bins_kernel(Op op, int pass) {
    __shared__ Sum bins[kBins];
    __shared__ uint32_t prefix;
    __shared__ Cut by_count;
    if (only_best(op)) return;
    for (int i = threadIdx.x; i < kBins; i += blockDim.x) bins[i] = 0;
    if (threadIdx.x < kWarp) {
        const Cut cut = by_weight ? top_k_cut(op) : Cut();
        Sum wanted = static_cast<Sum>(op.sampling.rule.top_k);
        if (by_weight && pass > 0) wanted = top_p_mass(op.sampling.rule.top_p, total_weight(op));
        const uint32_t so_far = prefix_at(by_weight ? op.draw->weights : op.draw->counts, pass, wanted);
        if (threadIdx.x == 0) by_count = cut, prefix = so_far;
    }
    __syncthreads();
    const int shift = 8 * (kPasses - 1 - pass);
    const auto in_prefix = [&](uint32_t rank) { return pass == 0 || rank >> (shift + 8) == prefix; };
    for (int id = first_id(op) + static_cast<int>(threadIdx.x); id < end_id(op); id += blockDim.x) {
        const uint32_t rank = rank_of_logit(op.sampling.logits[id]);
        if (!in_prefix(rank) || (by_weight && rank <= by_count.rank)) continue;
        const Sum amount = by_weight ? weight_of(op, rank) : 1;
        if (amount > 0) atomicAdd(&bins[rank >> shift & 255u], amount);
    }
    __syncthreads();
    // Of the tokens at the cut of top-k only some are left.
    if (by_weight && blockIdx.x == 0 && threadIdx.x == 0 && by_count.equals > 0 && in_prefix(by_count.rank)) {
        bins[by_count.rank >> shift & 255u] += by_count.equals * weight_of(op, by_count.rank);
    }
    __syncthreads();
    Sum* const all = by_weight ? op.draw->weights[pass] : op.draw->counts[pass];
    for (int i = threadIdx.x; i < kBins; i += blockDim.x) {
        if (bins[i] > 0) atomicAdd(&all[i], bins[i]);
    }
}

// What a token weighs once everything is filtered; `at_cut`: it ranks just there.
__device__ Sum kept_weight(const Op& op, const Cut& cut, uint32_t rank, bool& at_cut) {
    at_cut = rank == cut.rank && cut.equals > 0;
    if (rank <= cut.rank && !at_cut) return 0;
    const Sum weight = weight_of(op, rank);
    return op.sampling.rule.min_p > 0 && weight < min_p_weight(op.sampling.rule.min_p) ? 0 : weight;
}

__global__ void blocks_kernel(Op op) {
    __shared__ Cut cut;
    __shared__ Sum weights;
    __shared__ Sum equals;
    if (only_best(op)) return;
    if (threadIdx.x < kWarp) {
        const Cut found = final_cut(op);
        if (threadIdx.x == 0) cut = found, weights = 0, equals = 0;
    }
    __syncthreads();
    Sum own_weights = 0;
    Sum own_equals = 0;
    for (int id = first_id(op) + static_cast<int>(threadIdx.x); id < end_id(op); id += blockDim.x) {
        bool at_cut = false;
        const Sum weight = kept_weight(op, cut, rank_of_logit(op.sampling.logits[id]), at_cut);
        if (at_cut) {
            ++own_equals;
        } else {
            own_weights += weight;
        }
    }
    const Sum warp_weights = warp_prefix(own_weights);
    const Sum warp_equals = warp_prefix(own_equals);
    if (threadIdx.x % kWarp == kWarp - 1) atomicAdd(&weights, warp_weights), atomicAdd(&equals, warp_equals);
    __syncthreads();
    if (threadIdx.x == 0) op.draw->blocks.weights[blockIdx.x] = weights, op.draw->blocks.equals[blockIdx.x] = equals;
}

// Where the walk through the ids stands: before id `id`, with so much still to go, and so many tokens at the cut left
// to take.
struct Walk {
    int id;
    Sum unit;
    Sum equals;
};

// To the first id of the block of ids on which the drawn unit falls, into `walk`. A warp; a lane has a few blocks that
// follow each other.
__device__ void find_block(const Op& op, int blocks, const Cut& cut, Sum weight_at_cut, Walk* walk) {
    constexpr int kOwn = kMostBlocks / kWarp;
    const int first = static_cast<int>(threadIdx.x) % kWarp * kOwn;
    Sum weights[kOwn];
    Sum equals[kOwn];
    Sum all_equals = 0;
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
        weights[i] = first + i < blocks ? op.draw->blocks.weights[first + i] : 0;
        all_equals += equals[i] = first + i < blocks ? op.draw->blocks.equals[first + i] : 0;
    }
    const Sum equals_before = warp_prefix(all_equals) - all_equals;
    const Sum equals_left = cut.equals > equals_before ? cut.equals - equals_before : 0;
    Sum left = equals_left;
    Sum weight = 0;
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
        const Sum taken = min(left, equals[i]);
        left -= taken;
        weights[i] += taken * weight_at_cut;
        weight += weights[i];
    }
    const Sum end = warp_prefix(weight);
    const Sum unit = drawn_unit(op.sampling.input->random, __shfl_sync(kAllLanes, end, kWarp - 1));
    if (unit < end - weight || unit >= end) return;
    Walk here = {0, unit - (end - weight), equals_left};
    int own = 0;
    while (here.unit >= weights[own]) {
        here.unit -= weights[own];
        here.equals -= min(here.equals, equals[own++]);
    }
    here.id = (first + own) * op.ids_per_block;
    *walk = here;
}

// One block: finds the block of ids on which the drawn unit falls, then walks through its ids, kThreads at a time.
__global__ void draw_kernel(Op op, int blocks) {
    constexpr int kWarps = kThreads / kWarp;
    __shared__ Cut cut;
    __shared__ Walk walk;
    __shared__ Sum warp_equals[kWarps];
    __shared__ Sum warp_weights[kWarps];
    const Sampling& s = op.sampling;
    const int lane = threadIdx.x % kWarp;
    const int warp = threadIdx.x / kWarp;
    if (only_best(op)) {
        const int id = s.vocab - 1 - static_cast<int>(op.draw->best & 0xffffffffu);
        if (threadIdx.x == 0) *s.id = best_rank(op) <= kLeastRank ? -1 : id;
        return;
    }
    if (warp == 0) {
        const Cut found = final_cut(op);
        bool at_cut = false;
        const Sum weight_at_cut = found.equals > 0 ? kept_weight(op, found, found.rank, at_cut) : 0;
        find_block(op, blocks, found, weight_at_cut, &walk);
        if (lane == 0) cut = found;
    }
    __syncthreads();
    const auto sum_before = [](const Sum* of_warps, int until) {
        Sum sum = 0;
        for (int i = 0; i < until; ++i) sum += of_warps[i];
        return sum;
    };
    for (int from = walk.id; from < s.vocab; from += kThreads) {
        const int id = from + static_cast<int>(threadIdx.x);
        bool at_cut = false;
        Sum weight = id < s.vocab ? kept_weight(op, cut, rank_of_logit(s.logits[id]), at_cut) : 0;
        const unsigned equals = __ballot_sync(kAllLanes, at_cut);
        if (lane == 0) warp_equals[warp] = static_cast<Sum>(__popc(equals));
        __syncthreads();
        const Sum equals_before = sum_before(warp_equals, warp) + static_cast<Sum>(__popc(equals & ((1u << lane) - 1)));
        if (at_cut && equals_before >= walk.equals) weight = 0;
        const Sum weight_to_here = warp_prefix(weight);
        if (lane == kWarp - 1) warp_weights[warp] = weight_to_here;
        __syncthreads();
        const Sum end = sum_before(warp_weights, warp) + weight_to_here;
        const Sum all_weights = sum_before(warp_weights, kWarps);
        const Sum all_equals = sum_before(warp_equals, kWarps);
        const Walk now = walk;
        if (now.unit >= end - weight && now.unit < end) *s.id = id;
        if (now.unit < all_weights) return;
        __syncthreads();
        if (threadIdx.x == 0) walk.unit -= all_weights, walk.equals -= min(walk.equals, all_equals);
        __syncthreads();
    }
}

}  // namespace

void CudaBackend::sample(const Sampling& op) {
    std::byte* const base = scratch(sizeof(Draw));
    if (base == nullptr) return;
    Op all = {};
    all.sampling = op;
    all.draw = reinterpret_cast<Draw*>(base);
    const int blocks = std::clamp(op.vocab / (4 * kThreads), 1, kMostBlocks);
    all.ids_per_block = ceil_div(op.vocab, blocks);
    const auto grid = static_cast<unsigned>(blocks);
    memory_.clear(base, offsetof(Draw, blocks));
    const bool penalises = op.rule.repeat_penalty != 1;
    if (penalises) penalise_kernel<<<1, kThreads, 0, stream_>>>(all, false);
    best_kernel<<<grid, kThreads, 0, stream_>>>(all);
    if (op.rule.temperature > 0) {
        for (int pass = 0; pass < kPasses && op.rule.top_k > 0; ++pass) {
            bins_kernel<false><<<grid, kThreads, 0, stream_>>>(all, pass);
        }
        for (int pass = 0; pass < kPasses && op.rule.top_p < 1; ++pass) {
            bins_kernel<true><<<grid, kThreads, 0, stream_>>>(all, pass);
        }
        blocks_kernel<<<grid, kThreads, 0, stream_>>>(all);
    }
    draw_kernel<<<1, kThreads, 0, stream_>>>(all, blocks);
    if (penalises) penalise_kernel<<<1, kThreads, 0, stream_>>>(all, true);
    launched();
}

}  // namespace octavo::cuda
