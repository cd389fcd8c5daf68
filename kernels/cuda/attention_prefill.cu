// Attention of many tokens on the tensor cores. A block takes 128 rows (a row: one query head of a token, all of one KV
// head) and a share of the cells; each of its eight warps has 16 rows, with their queries, softmax and sums in
// registers. Tiles of 32 cells are unpacked to FP16 in shared memory once for all of them.
//
// The bulk is streamed: while a tile is worked on, the next is unpacked and the one after that copied. Tiles that some
// row reads in part (its end, window, sinks, open group, masked cells) or that have rare formats are filled one by one,
// in up to four parts: keys and values from the bulk or from their FP16 copies.
#include <algorithm>

#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/attention_prefill_stage.cuh"

namespace octavo::cuda {
namespace {

constexpr int kWarps = kPrefillThreads / kWarp;
constexpr int kRows = 16 * kWarps;
constexpr int kCells = kPrefillCells;
constexpr int kMostShares = 16384;  // of rows: their sums take 16 MiB

// A warp's rows g and g + 8 are this lane's in every fragment.
struct State {
    uint32_t q[16][4];  // A fragments, times log2(e) / sqrt(256)
    float o[32][4];
    float largest[2];
    float sum[2];  // of this lane's cells
};

// Scores of 32 cells, s[n]: cells 8n + 2t and one more of rows g and g + 8.
template <bool bf16>
__device__ inline void tile_scores(const f16_bits* keys, const State& state, float (&s)[4][4]) {
    const int lane = threadIdx.x % kWarp;
    const f16_bits* matrix = keys + (lane / 16 * 8 + lane % 8) * kTilePitch + lane / 8 % 2 * 8;
#pragma unroll
    for (int step = 0; step < 16; ++step) {
#pragma unroll
        for (int n = 0; n < 4; n += 2) {
            uint32_t b[4];
            load_matrices<false>(matrix + 8 * n * kTilePitch + 16 * step, b);
            mma_pair<bf16>(s[n], state.q[step], b[0], b[1]);
            mma_pair<bf16>(s[n + 1], state.q[step], b[2], b[3]);
        }
    }
}

// Scores become weights, as A fragments p[16 cells], and what was summed before is brought to the new largest score.
__device__ inline void weigh(float (&s)[4][4], bool bf16, State& state, uint32_t (&p)[2][4]) {
    // Weights may be relative to a largest score of before, as long as none becomes larger than FP16 holds well.
    constexpr float kMargin = 8;
    float largest[2] = {state.largest[0], state.largest[1]};
#pragma unroll
    for (int n = 0; n < 4; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) largest[i / 2] = fmaxf(largest[i / 2], s[n][i]);
    }
    const bool above = largest[0] > state.largest[0] + kMargin || largest[1] > state.largest[1] + kMargin;
    if (__any_sync(kAllLanes, above)) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            largest[i] = fmaxf(largest[i], __shfl_xor_sync(kAllLanes, largest[i], 1));
            largest[i] = fmaxf(largest[i], __shfl_xor_sync(kAllLanes, largest[i], 2));
            const float factor = largest[i] == -INFINITY ? 0.0f : exp2_fast(state.largest[i] - largest[i]);
            state.sum[i] *= factor;
            state.largest[i] = largest[i];
#pragma unroll
            for (int m = 0; m < 32; ++m) state.o[m][2 * i] *= factor, state.o[m][2 * i + 1] *= factor;
        }
    }
#pragma unroll
    for (int n = 0; n < 4; ++n) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            float w[2];
#pragma unroll
            for (int j = 0; j < 2; ++j) {
                const float score = s[n][2 * i + j];
                w[j] = score == -INFINITY ? 0.0f : exp2_fast(score - state.largest[i]);
                state.sum[i] += w[j];
            }
            p[n / 2][n % 2 * 2 + i] = bf16 ? pack_bf16(w[0], w[1]) : pack_f16(w[0], w[1]);
        }
    }
}

template <bool bf16>
__device__ inline void tile_values(const f16_bits* values, const uint32_t (&p)[2][4], State& state) {
    const int lane = threadIdx.x % kWarp;
    const f16_bits* matrix = values + lane % 16 * kTilePitch + lane / 16 * 8;
#pragma unroll
    for (int n = 0; n < 32; n += 2) {
#pragma unroll
        for (int step = 0; step < 2; ++step) {
            uint32_t b[4];
            load_matrices<true>(matrix + 16 * step * kTilePitch + 8 * n, b);
            mma_pair<bf16>(state.o[n], p[step], b[0], b[1]);
            mma_pair<bf16>(state.o[n + 1], p[step], b[2], b[3]);
        }
    }
}

// ---- a block ----

template <KvFormat f>
constexpr int stage_bytes() {
    if constexpr (f != kAnyFormat) return StagedTile<f>::kStageBytes;
    return 0;
}

// Tiles of keys and of values (two each where they are streamed), what is under way, tables.
template <KvFormat kf, KvFormat vf>
struct Layout {
    static constexpr int kValues = (kf == kAnyFormat ? 1 : 2) * kPrefillTileBytes;
    static constexpr int kStages = 2 * kValues;
    static constexpr int kTables = kStages + stage_bytes<kf>() + stage_bytes<vf>();
    static constexpr int kBytes = kTables + (uses_tables(kf) || uses_tables(vf) ? static_cast<int>(sizeof(Tables)) : 0);
};

struct Block {
    const SplitAttention& op;
    int kv_head;
    int per_kv_head;
    int row0;  // of the KV head's rows [token][head]
    int rows;  // <= kRows
    int64_t first_cell;

    __device__ int64_t position(int row) const { return first_cell + (row0 + row) / per_kv_head; }
    __device__ int64_t out_row(int row) const {  // of [T][heads]
        const int at = row0 + row;
        return int64_t{at / per_kv_head} * op.heads + kv_head * per_kv_head + at % per_kv_head;
    }
};

__device__ inline void start(const Block& block, bool bf16, State& state) {
    const int lane = threadIdx.x % kWarp;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const int row = threadIdx.x / kWarp * 16 + lane / 4 + 8 * i;
        const bool there = row < block.rows;
        const float* q = block.op.q + block.out_row(there ? row : 0) * kRowDim + lane % 4 * 2;
#pragma unroll
        for (int half = 0; half < 32; ++half) {
            const float2 pair = there ? *reinterpret_cast<const float2*>(q + 8 * half) : float2{0, 0};
            const float a = pair.x * (kLog2E / 16);
            const float b = pair.y * (kLog2E / 16);
            state.q[half / 2][half % 2 * 2 + i] = bf16 ? pack_bf16(a, b) : pack_f16(a, b);
        }
        state.largest[i] = -INFINITY;
        state.sum[i] = 0;
    }
#pragma unroll
    for (int n = 0; n < 32; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) state.o[n][i] = 0;
    }
}

template <bool k_bf16, bool v_bf16>
__device__ inline void attend(const f16_bits* keys, const f16_bits* values, State& state) {
    float s[4][4] = {};
    tile_scores<k_bf16>(keys, state, s);
    uint32_t p[2][4];
    weigh(s, v_bf16, state, p);
    tile_values<v_bf16>(values, p, state);
}

// Tiles [first, end): every row attends to all their cells in the bulk.
template <KvFormat kf, KvFormat vf>
__device__ inline void attend_bulk(const Block& block, int first, int end, uint8_t* memory, const Tables& tables,
                                   State& state) {
    if (first >= end) return;
    constexpr bool k_bf16 = kf == KvFormat::bf16;
    constexpr bool v_bf16 = vf == KvFormat::bf16;
    const auto tile = [&](int i) { return reinterpret_cast<f16_bits*>(memory + i * kPrefillTileBytes); };
    uint8_t* const stages = memory + Layout<kf, vf>::kStages;
    StagedTile<kf> k(block.op.cache, block.op.cache.k, block.kv_head, stages);
    StagedTile<vf> v(block.op.cache, block.op.cache.v, block.kv_head, stages + stage_bytes<kf>());
    const auto begin = [&](int i) {
        if (i < end)
            k.begin(int64_t{i} * kCells, tile((i - first) % 2)),
                v.begin(int64_t{i} * kCells, tile(2 + (i - first) % 2));
        end_copies();
    };
    const auto unpack = [&](int i) {
        wait_copies<0>();
        if (i < end) k.unpack(tile((i - first) % 2), tables), v.unpack(tile(2 + (i - first) % 2), tables);
    };
    // Packed tiles are copied two ahead and unpacked one ahead; plain ones are copied one ahead.
    constexpr bool kPlain = !StagedTile<kf>::kUnpacks && !StagedTile<vf>::kUnpacks;
    begin(first);
    unpack(first);
    if (!kPlain) begin(first + 1);
    __syncthreads();
    const bool unpacks_first = threadIdx.x < kPrefillThreads / 2;  // so that half the warps of a scheduler multiply
    for (int i = first; i < end; ++i) {
        if (kPlain) begin(i + 1);
#pragma unroll 1
        for (int turn = 0; turn < 2; ++turn) {
            if ((turn == 0) == (unpacks_first && !kPlain)) {
                unpack(i + 1);
                if (!kPlain) begin(i + 2);
            } else {
                attend<k_bf16, v_bf16>(tile((i - first) % 2), tile(2 + (i - first) % 2), state);
            }
        }
        __syncthreads();
    }
    wait_copies<0>();
}

// One tile, each row's cells from wherever it reads them.
template <KvFormat kf, KvFormat vf>
__device__ inline void attend_parts(const Block& block, const Source& k, const Source& v, int64_t first, bool k_bf16,
                                    bool v_bf16, f16_bits* keys, f16_bits* values, const Tables& tables, State& state) {
    const Cache& cache = block.op.cache;
    const int64_t first_position = block.position(0);
    const int64_t last_position = block.position(block.rows - 1);
    // Whether some row reads the cell so; a copy is read from the cell's own position on, up to some later one.
    const auto someone = [&](const Side& side, int64_t cell, bool copies) {
        if (cell > last_position || is_masked(cache, cell)) return false;
        return copies ? reads_copy(cache, side, max(cell, first_position), cell)
                      : !reads_copy(cache, side, last_position, cell);
    };
    for (int part = 0; part < 4; ++part) {
        const bool k_copies = (part & 1) != 0;
        const bool v_copies = (part & 2) != 0;
        const int64_t cell = first + threadIdx.x % kWarp;
        const bool wanted = someone(cache.k, cell, k_copies) && someone(cache.v, cell, v_copies);
        if (!__any_sync(kAllLanes, wanted)) continue;  // the same in every warp
        const auto origin = [&](const Side& side, bool copies) {
            return [&, copies](int64_t c) {
                return someone(side, c, copies) ? (copies ? Origin::copy : Origin::bulk) : Origin::none;
            };
        };
        fill_tile<kf, kCells>(k, first, tables, origin(cache.k, k_copies), keys);
        fill_tile<vf, kCells>(v, first, tables, origin(cache.v, v_copies), values);
        __syncthreads();
        float s[4][4] = {};
        if (k_bf16) {
            tile_scores<true>(keys, state, s);
        } else {
            tile_scores<false>(keys, state, s);
        }
        const int lane = threadIdx.x % kWarp;
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int64_t position = block.position(threadIdx.x / kWarp * 16 + lane / 4 + 8 * i);
#pragma unroll
            for (int n = 0; n < 8; ++n) {
                const int64_t c = first + 8 * (n / 2) + lane % 4 * 2 + n % 2;
                const bool attended = c <= position && !is_masked(cache, c) &&
                                      reads_copy(cache, cache.k, position, c) == k_copies &&
                                      reads_copy(cache, cache.v, position, c) == v_copies;
                if (!attended) s[n / 2][2 * i + n % 2] = -INFINITY;
            }
        }
        uint32_t p[2][4];
        weigh(s, v_bf16, state, p);
        if (v_bf16) {
            tile_values<true>(values, p, state);
        } else {
            tile_values<false>(values, p, state);
        }
        __syncthreads();
    }
}

__device__ inline void write_share(const Block& block, State& state) {
    const SplitAttention& op = block.op;
    const int lane = threadIdx.x % kWarp;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        state.sum[i] += __shfl_xor_sync(kAllLanes, state.sum[i], 1);
        state.sum[i] += __shfl_xor_sync(kAllLanes, state.sum[i], 2);
        const int row = threadIdx.x / kWarp * 16 + lane / 4 + 8 * i;
        if (row >= block.rows) continue;
        const int64_t at = block.out_row(row) * op.splits + blockIdx.z;
        if (lane % 4 == 0) op.softmax[at] = {state.largest[i], state.sum[i]};
        float* to = op.sums + at * kRowDim + lane % 4 * 2;
#pragma unroll
        for (int n = 0; n < 32; ++n) {
            *reinterpret_cast<float2*>(to + 8 * n) = {state.o[n][2 * i], state.o[n][2 * i + 1]};
        }
    }
}

// The formats as numbers, since kAnyFormat is none. Blocks: [rows / kRows][kv_heads][splits]
template <int k_format, int v_format>
__global__ void __launch_bounds__(kPrefillThreads, 1) prefill_kernel(SplitAttention op) {
    constexpr auto kf = static_cast<KvFormat>(k_format);
    constexpr auto vf = static_cast<KvFormat>(v_format);
    extern __shared__ __align__(16) uint8_t memory[];
    auto& tables = *reinterpret_cast<Tables*>(memory + Layout<kf, vf>::kTables);
    if (uses_tables(kf) || uses_tables(vf)) fill_tables(tables);

    const int per_kv_head = op.heads / op.cache.kv_heads;
    const int row0 = blockIdx.x * kRows;
    const Block block{op,
                      static_cast<int>(blockIdx.y),
                      per_kv_head,
                      row0,
                      min(kRows, op.tokens * per_kv_head - row0),
                      *op.first_cell};
    const bool k_bf16 = kf == kAnyFormat ? op.cache.k.format == KvFormat::bf16 : kf == KvFormat::bf16;
    const bool v_bf16 = vf == kAnyFormat ? op.cache.v.format == KvFormat::bf16 : vf == KvFormat::bf16;
    const Source k{op.cache, op.cache.k, op.fresh_k, block.first_cell, block.kv_head, nullptr};
    const Source v{op.cache, op.cache.v, op.fresh_v, block.first_cell, block.kv_head, nullptr};
    State state;
    start(block, k_bf16, state);
    __syncthreads();

    const int tiles = static_cast<int>(block.position(block.rows - 1) / kCells) + 1;
    const int first = static_cast<int>(int64_t{tiles} * blockIdx.z / op.splits);
    const int end = static_cast<int>(int64_t{tiles} * (blockIdx.z + 1) / op.splits);
    TileRange bulk = kf == kAnyFormat ? TileRange{0, 0} : bulk_tiles(op.cache, block.position(0), kCells);
    bulk.first = min(max(bulk.first, first), end);
    bulk.end = max(min(bulk.end, end), bulk.first);
    if constexpr (kf != kAnyFormat) attend_bulk<kf, vf>(block, bulk.first, bulk.end, memory, tables, state);
    auto* const keys = reinterpret_cast<f16_bits*>(memory);
    auto* const values = reinterpret_cast<f16_bits*>(memory + Layout<kf, vf>::kValues);
#pragma unroll 1
    for (int tile = first; tile < end; ++tile) {
        if (tile >= bulk.first && tile < bulk.end) continue;
        attend_parts<kf, vf>(block, k, v, int64_t{tile} * kCells, k_bf16, v_bf16, keys, values, tables, state);
    }
    write_share(block, state);
}

using Kernel = void (*)(SplitAttention);

// Schemes that people use have kernels of their own; every other pair shares one.
struct Instance {
    KvFormat k, v;
    Kernel kernel;
    int shared_bytes;
};
template <KvFormat k, KvFormat v>
constexpr Instance instance() {
    return {k, v, prefill_kernel<static_cast<int>(k), static_cast<int>(v)>, Layout<k, v>::kBytes};
}
constexpr KvFormat f16 = KvFormat::f16, bf16 = KvFormat::bf16, q8_0 = KvFormat::q8_0, q6_0 = KvFormat::q6_0,
                   q4_0 = KvFormat::q4_0, q2c = KvFormat::q2c;
const Instance kInstances[] = {
    instance<f16, f16>(),   instance<bf16, bf16>(), instance<q8_0, q8_0>(), instance<q6_0, q6_0>(),
    instance<q4_0, q4_0>(), instance<q8_0, q4_0>(), instance<q2c, q4_0>(),  instance<kAnyFormat, kAnyFormat>(),
};

// A GPU whose multiprocessors have too little shared memory for a pair's tiles runs the common kernel.
bool runs(const Instance& instance) {
    int blocks = 0;
    const auto bytes = static_cast<size_t>(instance.shared_bytes);
    if (cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, instance.kernel, kPrefillThreads, bytes) ==
        cudaSuccess) {
        return blocks > 0;
    }
    (void)cudaGetLastError();
    return false;
}

const Instance& instance_of(const SplitAttention& op) {
    for (const Instance& instance : kInstances) {
        if (instance.k == op.cache.k.format && instance.v == op.cache.v.format && runs(instance)) return instance;
    }
    return kInstances[std::size(kInstances) - 1];
}

int row_blocks(const SplitAttention& op) { return ceil_div(op.tokens * (op.heads / op.cache.kv_heads), kRows); }

}  // namespace

void prepare_prefill_attention() {
    for (const Instance& instance : kInstances) {
        (void)cudaFuncSetAttribute(instance.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, instance.shared_bytes);
    }
    (void)cudaGetLastError();  // see `runs`
}

int prefill_splits(const SplitAttention& op, int multiprocessors) {
    const int blocks = row_blocks(op) * op.cache.kv_heads;
    return std::max(1, std::min(multiprocessors / blocks, kMostShares / (op.tokens * op.heads)));
}

void run_prefill_attention(const SplitAttention& op, cudaStream_t stream) {
    const Instance& instance = instance_of(op);
    const dim3 grid(static_cast<unsigned>(row_blocks(op)), static_cast<unsigned>(op.cache.kv_heads),
                    static_cast<unsigned>(op.splits));
    instance.kernel<<<grid, kPrefillThreads, static_cast<size_t>(instance.shared_bytes), stream>>>(op);
}

}  // namespace octavo::cuda
