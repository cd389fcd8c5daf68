// What a block of decode attention does with tiles: the softmax that its warps share, and the stream of packed tiles.
#pragma once

#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/attention_deal.h"
#include "kernels/cuda/attention_scores.cuh"
#include "kernels/cuda/attention_values.cuh"

namespace octavo::cuda::decode {

constexpr int kWarps = 4;
constexpr int kThreads = kWarps * kWarp;
constexpr int kQueries = 8;
// The block's sums, value by value: dimension d of a row is row_place(d) from where the row starts, so that neither who
// writes them nor who reads them meet in a bank.
constexpr int kRowFloats = kQueries * 356;
__device__ inline constexpr int row_start(int query) {
    return query * 352 + (query % 2 + query / 2 % 2) * 16 + query / 4 * 2;
}
__device__ inline constexpr int row_place(int d) { return d + d / 16 * 4; }
static_assert(row_start(kQueries - 1) + row_place(kRowDim - 1) < kRowFloats);
constexpr int kStages = 2;        // tiles of K and of V in shared memory at once: one is read, one is on its way
constexpr int kLeastCells = 128;  // to a split of the bulk: a split's sums are to be read again
constexpr int kPieceCost = 256;   // streamed cells that take as long as an unpacked piece

// Four warps' cells, or two warps' where rows are long: rounds are shorter then, and small GPUs have room for more
// blocks. Groups of q2c are as they are.
constexpr int tile_cells(KvFormat kf, KvFormat vf) {
    if (kf == KvFormat::q2c) return kWarps * kKvGroupCells;
    return is_plain(kf) || is_plain(vf) || (kf == KvFormat::q8_0 && vf == KvFormat::q8_0) ? 32 : 64;
}

constexpr bool streams(KvFormat kf, KvFormat vf) {
    return is_packed_format(kf) && is_packed_format(vf) && vf != KvFormat::q2c;
}

template <KvFormat kf, KvFormat vf>
struct Layout {
    static constexpr bool kStreams = streams(kf, vf);
    static constexpr KvFormat kOrder = kStreams ? vf : KvFormat::f16;  // of sums in fragments: see value_dimension
    static constexpr int kCells = kStreams ? tile_cells(kf, vf) : 64;
    static constexpr int k_bytes() {
        if constexpr (kStreams) return PackedTile<kf, kCells>::kBytes;
        return 0;
    }
    static constexpr int v_bytes() {
        if constexpr (kStreams) return PackedTile<vf, kCells>::kBytes;
        return 0;
    }
    static constexpr int kRing = kStages * (k_bytes() + v_bytes());
    // What is unpacked at once. A few short pieces beside a stream: keys and values lie side by side. Else the values
    // take the place of the keys.
    static constexpr int kPieceCells = kStreams ? 32 : 64;
    static constexpr int kPieces = kCells / kPieceCells;
    static constexpr int kValuesAt = kStreams ? kPieceCells * kTilePitch : 0;
    static constexpr int kUnpacked = (kValuesAt + kPieceCells * kTilePitch) * 2;
    static constexpr int kLeastTiles = kCells < kLeastCells ? kLeastCells / kCells : 2;
    static constexpr int kPieceTiles = kStreams ? (kPieceCost + kCells - 1) / kCells : 1;
    static constexpr int kOther = kUnpacked + static_cast<int>(sizeof(Tables));
    static constexpr int kBytes = kRing > kOther ? kRing : kOther;
    static_assert(kBytes >= kRowFloats * 4);
};

// What a block keeps beside its tiles.
template <int cells>
struct Shared {
    __align__(16) f16_bits q[kQueries][kTilePitch];
    __align__(16) f16_bits weights[2][cells][kQueries];
    __align__(16) float bias[kQueries][8];  // of the blocks: see bias_fragment
    float largest[kWarps][kQueries];
};

// The softmax so far: columns 2t and 2t + 1 are this lane's in every C fragment.
struct Softmax {
    float largest[2];  // the same in all warps
    float sum[2];      // of this lane's cells
};

// Of a lane's scores, by column.
template <int count>
__device__ inline float2 most_of(const float (&s)[count]) {
    float2 most = {s[0], s[1]};
#pragma unroll
    for (int i = 2; i < count; i += 2) most = {fmaxf(most.x, s[i]), fmaxf(most.y, s[i + 1])};
    return most;
}
// Weights may be relative to a largest score of before, as long as none becomes larger than FP16 holds well. If any
// thread's scores are above that, all threads come to raise the largest one, and `o` with it.
template <int count>
__device__ inline bool is_above(const float (&s)[count], const Softmax& state) {
    constexpr float kMargin = 8;
    const float2 most = most_of(s);
    return most.x > state.largest[0] + kMargin || most.y > state.largest[1] + kMargin;
}
template <int count, int cells, int fragments>
__device__ inline void raise(const float (&s)[count], Softmax& state, float (&o)[fragments][4], Shared<cells>& shared) {
    const float2 most = most_of(s);
    const int lane = threadIdx.x % kWarp;
    const int t = lane % 4;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        float found = i == 0 ? most.x : most.y;
#pragma unroll
        for (int offset = 4; offset < kWarp; offset *= 2) {
            found = fmaxf(found, __shfl_xor_sync(kAllLanes, found, offset));
        }
        if (lane < 4) shared.largest[threadIdx.x / kWarp][2 * t + i] = found;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        float found = state.largest[i];
#pragma unroll
        for (int w = 0; w < kWarps; ++w) found = fmaxf(found, shared.largest[w][2 * t + i]);
        const float factor = found == -INFINITY ? 0.0f : exp2_fast(state.largest[i] - found);
        state.largest[i] = found;
        state.sum[i] *= factor;
#pragma unroll
        for (int m = 0; m < fragments; ++m) o[m][i] *= factor, o[m][i + 2] *= factor;
    }
    __syncthreads();  // before anybody's next
}

// Scores of the warp's cells, 16 or 32, become weights in shared memory: [cell][query]. Returns their sums.
template <int count, int cells>
__device__ inline float2 weigh(const float (&s)[count], bool bf16, const Softmax& state, int buffer,
                               Shared<cells>& shared) {
    const int lane = threadIdx.x % kWarp;
    const int cell0 = threadIdx.x / kWarp * 4 * count;
    float w[count];
    float sums[2] = {0, 0};
#pragma unroll
    for (int i = 0; i < count; ++i) {
        w[i] = s[i] == -INFINITY ? 0.0f : exp2_fast(s[i] - state.largest[i % 2]);
        sums[i % 2] += w[i];
    }
#pragma unroll
    for (int i = 0; i < count / 2; ++i) {
        const uint32_t pair = bf16 ? pack_bf16(w[2 * i], w[2 * i + 1]) : pack_f16(w[2 * i], w[2 * i + 1]);
        *reinterpret_cast<uint32_t*>(&shared.weights[buffer][cell0 + 8 * i + lane / 4][2 * (lane % 4)]) = pair;
    }
    return {sums[0], sums[1]};
}
__device__ inline void add(float2 sums, Softmax& state) { state.sum[0] += sums.x, state.sum[1] += sums.y; }

template <int cells>
__device__ inline void weights_of(const Shared<cells>& shared, int buffer, int cell0, uint32_t (&weights)[4]) {
    const int lane = threadIdx.x % kWarp;
    load_matrices<true>(&shared.weights[buffer][cell0 + lane][0], weights);
}

// ---- the bulk ----

// A split's tiles of the bulk on their way through the ring.
template <KvFormat kf, KvFormat vf>
class Stream {
  public:
    static constexpr int kCells = Layout<kf, vf>::kCells;

    __device__ Stream(const SplitAttention& op, int kv_head, const Deal& deal, uint8_t* ring)
        : deal_(deal),
          ring_(ring),
          k_(BulkRows(op.cache, op.cache.k, kv_head)),
          v_(BulkRows(op.cache, op.cache.v, kv_head)) {}

    // The first keys alone: more would keep what other kernels read from arriving.
    __device__ void begin_first() { begin(0); }
    // The second keys, and the first values.
    __device__ void begin_second() { begin(1); }

    template <int fragments>
    __device__ void attend(Shared<kCells>& shared, Softmax& state, float (&o)[fragments][4]) {
        const int warp = threadIdx.x / kWarp;
        const int lane = threadIdx.x % kWarp;
        const int cell0 = warp * 4 * kScores;
        const bool has_cells = cell0 < kCells;
        uint32_t bias[2] = {};
        if constexpr (has_key_bias(kf)) bias_fragment(shared.bias[lane / 4], bias);
        // Step i: scores of tile i, which become weights at once, and values of the tile before. Whether its weights
        // may stay is known at the barrier.
        float s[kScores];
#pragma unroll
        for (float& score : s) score = -INFINITY;  // of a warp without cells
        float2 sums = {0, 0};
        bool above = false;
        for (int i = 0; i <= deal_.count; ++i) {
            if (i == 0) {
                wait_copies<1>();
            } else {
                wait_copies<0>();
            }
            if (__syncthreads_or(above ? 1 : 0) != 0) {  // copies of all threads are there, weights too
                raise(s, state, o, shared);
                if (has_cells) sums = weigh(s, kBf16, state, i % 2, shared);
                __syncthreads();
            }
            add(sums, state);
            if (i > 0) begin(i + 1);  // where all have read
            above = false;
            sums = {0, 0};
            if (i < deal_.count && has_cells) {
#pragma unroll
                for (float& score : s) score = 0;
                packed_scores<kf, kCells>(k_tile(i), cell0, shared.q[0], bias, s);
                above = is_above(s, state);
                sums = weigh(s, kBf16, state, (i + 1) % 2, shared);
            }
            if (i == 0) continue;
#pragma unroll
            for (int cell = 0; cell < kCells; cell += 32) {
                uint32_t weights[4];
                weights_of(shared, i % 2, cell, weights);
                packed_values<vf, kCells>(v_tile(i - 1), cell, warp, weights, o);
            }
        }
        take_bias<vf>(o);
    }

  private:
    static constexpr int kScores = packed_score_count(kf);
    static constexpr bool kBf16 = has_bf16_weights(vf);
    using K = PackedTile<kf, kCells>;
    using V = PackedTile<vf, kCells>;

    __device__ uint8_t* k_tile(int i) const { return ring_ + i % kStages * K::kBytes; }
    __device__ uint8_t* v_tile(int i) const { return ring_ + kStages * K::kBytes + i % kStages * V::kBytes; }
    // Group i of copies: keys of tile i, values of the tile before.
    __device__ void begin(int i) {
        if (i < deal_.count) k_.begin(deal_.tile(i), k_tile(i));
        if (i > 0 && i <= deal_.count) v_.begin(deal_.tile(i - 1), v_tile(i - 1));
        end_copies();
    }

    Deal deal_;
    uint8_t* ring_;
    TileCopies<kf, kCells, kThreads> k_;
    TileCopies<vf, kCells, kThreads> v_;
};

}  // namespace octavo::cuda::decode
