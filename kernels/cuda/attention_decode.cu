// Attention of one token, or a few, on the tensor cores. A block takes up to eight query heads of a KV head and a share
// of the cells, a tile at a time, between four warps: for the scores each warp has 16 cells, for the values 64
// dimensions; the weights pass from one to the other through shared memory.
//
// The long middle of a sequence, cells that are all attended and all read from the bulk, is streamed packed: the copies
// of tiles to come are under way while one is worked on, and the scores of a tile while the values of the one before
// are added. What is left (sinks, window, open group, masked cells; all of a rare pair of formats) is unpacked tile by
// tile; it is spread over the splits, which have less of the rest to do then.
#include "kernels/cuda/attention_decode_share.cuh"
#include "kernels/cuda/early_launch.cuh"

namespace octavo::cuda {
namespace {

using namespace decode;

// ---- the rest ----

// A piece, from wherever its cells are read; `all_bulk`: from there.
template <KvFormat kf, KvFormat vf, bool k_bf16, bool v_bf16, int cells, int fragments>
__device__ inline void attend_unpacked(const Source& k, const Source& v, int64_t position, int64_t first, bool all_bulk,
                                       const Tables& tables, f16_bits* tile, Shared<cells>& shared, Softmax& state,
                                       float (&o)[fragments][4]) {
    using Sizes = Layout<kf, vf>;
    constexpr int kPieceCells = Sizes::kPieceCells;
    constexpr bool kTogether = Sizes::kValuesAt > 0;
    f16_bits* const values = tile + Sizes::kValuesAt;
    const int warp = threadIdx.x / kWarp;
    const int lane = threadIdx.x % kWarp;
    const auto attended = [&](int64_t cell) { return cell <= position && !is_masked(k.cache, cell); };
    const auto fill = [&](auto format, const Source& from, f16_bits* to) {
        const auto origin = [&](int64_t cell) {
            if (all_bulk) return Origin::bulk;
            if (!attended(cell)) return Origin::none;
            return reads_copy(from.cache, from.side, position, cell) ? Origin::copy : Origin::bulk;
        };
        constexpr KvFormat f = decltype(format)::value;
        fill_tile<f, kPieceCells, f == kAnyFormat ? 1 : 2>(from, first, tables, origin, to);
    };
    fill(std::integral_constant<KvFormat, kf>(), k, tile);
    if (kTogether) fill(std::integral_constant<KvFormat, vf>(), v, values);
    __syncthreads();
    float s[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
    if (16 * warp < kPieceCells) {
        float sums[4] = {};
        const f16_bits* row = tile + (16 * warp + lane % 16) * kTilePitch + lane / 16 * 8;
        plain_scores<k_bf16>(PaddedRow{shared_address(row)}, shared.q[0], sums);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            if (attended(first + 16 * warp + lane / 4 + i / 2 * 8)) s[i] = sums[i];
        }
    }
    if (__syncthreads_or(is_above(s, state) ? 1 : 0) != 0) raise(s, state, o, shared);  // the keys have been read
    if (16 * warp < kPieceCells) add(weigh(s, v_bf16, state, 0, shared), state);
    if (!kTogether) fill(std::integral_constant<KvFormat, vf>(), v, values);
    __syncthreads();
#pragma unroll
    for (int cell = 0; cell < kPieceCells; cell += 32) {
        uint32_t weights[4];
        weights_of(shared, 0, cell, weights);
        const f16_bits* row = values + (cell + plain_row()) * kTilePitch + 64 * warp + lane / 8 % 2 * 8;
        plain_values<v_bf16>(PaddedRow{shared_address(row)}, weights, o);
        plain_values<v_bf16>(PaddedRow{shared_address(row + 16 * kTilePitch)}, weights + 2, o);
    }
    __syncthreads();
}

// ---- a block ----

// The queries, times log2(e) / sqrt(256), in the order that products with `f` want, and what the keys' bias makes of
// them. A lane has eight dimensions; `meanwhile` runs while they are on their way.
template <KvFormat f, int cells, class Meanwhile>
__device__ inline void load_queries(const float* q, int queries, bool bf16, Shared<cells>& shared,
                                    Meanwhile&& meanwhile) {
    const int lane = threadIdx.x % kWarp;
    constexpr int kEach = kQueries / kWarps;  // queries of a warp
    float4 values[kEach][2];
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
        const int query = static_cast<int>(threadIdx.x) / kWarp + i * kWarps;
        const auto* row = reinterpret_cast<const float4*>(q + min(query, queries - 1) * kRowDim + 8 * lane);
        values[i][0] = row[0], values[i][1] = row[1];
    }
    meanwhile();
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
        const int query = static_cast<int>(threadIdx.x) / kWarp + i * kWarps;
        const float scale = query < queries ? kLog2E / 16 * key_unit(f) : 0.0f;
        const float4 low = values[i][0];
        const float4 high = values[i][1];
        const float x[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
        float biased = 0;
#pragma unroll
        for (int p = 0; p < 4; ++p) {
            const float a = x[pair_dimension<f>(p)] * scale;
            const float b = x[pair_dimension<f>(p) + pair_step<f>()] * scale;
            const uint32_t pair = bf16 ? pack_bf16(a, b) : pack_f16(a, b);
            *reinterpret_cast<uint32_t*>(&shared.q[query][pair_place<f>(lane, p)]) = pair;
            if constexpr (has_key_bias(f)) {
                const float2 rounded = __half22float2(as_half2(pair));
                biased = fmaf(rounded.x + rounded.y, key_bias(f, p) / kBiasUnit, biased);
            }
        }
        if constexpr (has_key_bias(f)) {  // a block of 32 is that of four lanes
            biased += __shfl_xor_sync(kAllLanes, biased, 1);
            biased += __shfl_xor_sync(kAllLanes, biased, 2);
            if (lane % 4 == 0) shared.bias[query][lane / 4] = -biased;
        }
    }
    __syncthreads();
}

// Of a multiprocessor, as far as registers go: as many as the tiles of large GPUs' shared memory allow.
constexpr int blocks_wanted(int k_format, int v_format) {
    const auto kf = static_cast<KvFormat>(k_format);
    const auto vf = static_cast<KvFormat>(v_format);
    return !streams(kf, vf) || (kf == KvFormat::q4_0 && vf == KvFormat::q4_0) ? 4 : 3;
}

// Whether the next kernel's blocks may come as soon as there is room, before this kernel's blocks have read their last
// tile: where they find registers beside those. Elsewhere they would stand in the way of the slower blocks.
constexpr bool lets_next_start_early(KvFormat kf, KvFormat vf) { return is_plain(kf) && is_plain(vf); }

// The formats as numbers, since kAnyFormat is none.
template <int k_format, int v_format>
__global__ void __launch_bounds__(kThreads, blocks_wanted(k_format, v_format)) decode_kernel(SplitAttention op) {
    constexpr auto kf = static_cast<KvFormat>(k_format);
    constexpr auto vf = static_cast<KvFormat>(v_format);
    using Sizes = Layout<kf, vf>;
    constexpr int kCells = Sizes::kCells;
    extern __shared__ __align__(128) uint8_t tiles[];
    __shared__ Shared<kCells> shared;
    auto& tables = *reinterpret_cast<Tables*>(tiles + Sizes::kUnpacked);

    const int per_kv_head = op.heads / op.cache.kv_heads;
    const int column_groups = ceil_div(per_kv_head, kQueries);
    const int kv_head = blockIdx.y / column_groups;
    const int column0 = blockIdx.y % column_groups * kQueries;  // of the KV head's queries
    const int queries = min(kQueries, per_kv_head - column0);
    const int64_t row0 = int64_t{blockIdx.z} * op.heads + int64_t{kv_head} * per_kv_head + column0;
    const int64_t first_cell = *op.first_cell;
    const int64_t position = first_cell + blockIdx.z;
    const int count = static_cast<int>(position / kCells) + 1;  // tiles
    TileRange bulk = bulk_tiles(op.cache, position, kCells);
    bulk = {min(bulk.first, count), min(bulk.end, count)};
    const TileRange to_stream = Sizes::kStreams ? bulk : TileRange{0, 0};
    const int pieces = Sizes::kPieces * (count - (to_stream.end - to_stream.first));
    const int split = blockIdx.x;
    const Share share = share_of(split, pieces, to_stream, op.splits, Sizes::kLeastTiles, Sizes::kPieceTiles);
    const bool has_others = share.others.first < share.others.end;
    if (share.bulk.count == 0 && !has_others) {
        await_previous();
        if (threadIdx.x < queries) op.softmax[(row0 + threadIdx.x) * op.splits + blockIdx.x] = {-INFINITY, 0};
        return;
    }

    const bool k_bf16 = kf == KvFormat::bf16 || (kf == kAnyFormat && op.cache.k.format == KvFormat::bf16);
    const bool v_bf16 = vf == KvFormat::bf16 || (vf == kAnyFormat && op.cache.v.format == KvFormat::bf16);
    Softmax state = {{-INFINITY, -INFINITY}, {0, 0}};
    float o[value_fragments(vf)][4] = {};
    const auto attend_others = [&] {
        if (uses_tables(kf) || uses_tables(vf)) {
            fill_tables(tables);
            __syncthreads();
        }
        const auto new_row = [&](const float* row) { return row == nullptr ? nullptr : row + kv_head * kRowDim; };
        const Source k{op.cache, op.cache.k, op.fresh_k, first_cell, kv_head, new_row(op.new_k)};
        const Source v{op.cache, op.cache.v, op.fresh_v, first_cell, kv_head, new_row(op.new_v)};
        auto* const tile = reinterpret_cast<f16_bits*>(tiles);
        for (int i = share.others.first; i < share.others.end; ++i) {
            const int other = i / Sizes::kPieces;
            const int at = other < to_stream.first ? other : other + to_stream.end - to_stream.first;
            const int64_t cell = int64_t{at} * kCells + i % Sizes::kPieces * Sizes::kPieceCells;
            if (cell > position) break;
            const bool all_bulk = at >= bulk.first && at < bulk.end;
            const auto attend = [&](auto k_is_bf16, auto v_is_bf16) {
                attend_unpacked<kf, vf, decltype(k_is_bf16)::value, decltype(v_is_bf16)::value>(
                    k, v, position, cell, all_bulk, tables, tile, shared, state, o);
            };
            if constexpr (kf != kAnyFormat) {
                attend(std::bool_constant<kf == KvFormat::bf16>(), std::bool_constant<vf == KvFormat::bf16>());
            } else if (k_bf16 && v_bf16) {
                attend(std::true_type(), std::true_type());
            } else if (k_bf16) {
                attend(std::true_type(), std::false_type());
            } else if (v_bf16) {
                attend(std::false_type(), std::true_type());
            } else {
                attend(std::false_type(), std::false_type());
            }
        }
        reorder<Sizes::kOrder>(o, reinterpret_cast<float*>(tiles));
    };
    if constexpr (Sizes::kStreams) {
        Stream<kf, vf> stream(op, kv_head, share.bulk, tiles);
        // Cells that the pass itself stores are there once the kernels before have ended; others already are.
        const int64_t settled = first_cell / kKvGroupCells * kKvGroupCells;
        const bool early = !has_others && int64_t{share.bulk.tile(0) + 1} * kCells <= settled;
        if (lets_next_start_early(kf, vf)) let_next_start();
        if (early) stream.begin_first();
        await_previous();
        if (has_others) {
            load_queries<KvFormat::f16>(op.q + row0 * kRowDim, queries, k_bf16, shared, [] {});
            attend_others();
        }
        if (share.bulk.count > 0) {
            const auto start = [&] {
                if (!early) stream.begin_first();
                stream.begin_second();
            };
            load_queries<kf>(op.q + row0 * kRowDim, queries, k_bf16, shared, start);
            stream.attend(shared, state, o);
        }
    } else {
        await_previous();
        load_queries<KvFormat::f16>(op.q + row0 * kRowDim, queries, k_bf16, shared, [] {});
        attend_others();
    }
    let_next_start();
    write_share(op, row0, queries, state, o, shared);
}

using Kernel = void (*)(SplitAttention);

// Schemes that people use have kernels of their own; every other pair shares one.
struct Instance {
    KvFormat k, v;
    Kernel kernel;
    int shared_bytes;
    KvFormat order;  // of the sums
};
template <KvFormat k, KvFormat v>
constexpr Instance instance() {
    return {k, v, decode_kernel<static_cast<int>(k), static_cast<int>(v)>, Layout<k, v>::kBytes, Layout<k, v>::kOrder};
}
constexpr KvFormat f16 = KvFormat::f16, bf16 = KvFormat::bf16, q8_0 = KvFormat::q8_0, q6_0 = KvFormat::q6_0,
                   q4_0 = KvFormat::q4_0, q2c = KvFormat::q2c, fp8 = KvFormat::fp8_e4m3, q6r = KvFormat::q6r,
                   q4_nl = KvFormat::q4_nl;
const Instance kInstances[] = {
    instance<f16, f16>(),   instance<bf16, bf16>(),   instance<q8_0, q8_0>(), instance<q6_0, q6_0>(),
    instance<q4_0, q4_0>(), instance<q8_0, q4_0>(),   instance<q2c, q4_0>(),  instance<fp8, fp8>(),
    instance<q6r, q6r>(),   instance<q4_nl, q4_nl>(), instance<q2c, q2c>(),   instance<kAnyFormat, kAnyFormat>(),
};

// A GPU whose multiprocessors have too little shared memory for a pair's tiles runs the common kernel.
int blocks_at_once(const Instance& instance) {
    int blocks = 0;
    const auto bytes = static_cast<size_t>(instance.shared_bytes);
    if (cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, instance.kernel, kThreads, bytes) != cudaSuccess) {
        (void)cudaGetLastError();
        return 0;
    }
    return blocks;
}

const Instance& instance_of(const SplitAttention& op) {
    for (const Instance& instance : kInstances) {
        const bool same = instance.k == op.cache.k.format && instance.v == op.cache.v.format;
        if (same && blocks_at_once(instance) > 0) return instance;
    }
    return kInstances[std::size(kInstances) - 1];
}

}  // namespace

void prepare_decode_attention() {
    for (const Instance& instance : kInstances) {
        (void)cudaFuncSetAttribute(instance.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, instance.shared_bytes);
    }
    (void)cudaGetLastError();  // see `blocks_at_once`
}

int decode_splits(const SplitAttention& op, int multiprocessors) {
    const Instance& instance = instance_of(op);
    const int groups = op.cache.kv_heads * ceil_div(op.heads / op.cache.kv_heads, kQueries) * op.tokens;
    return std::max(1, blocks_at_once(instance) * multiprocessors / groups);
}

KvFormat run_decode_attention(const SplitAttention& op, bool early, cudaStream_t stream) {
    const Instance& instance = instance_of(op);
    const int groups = ceil_div(op.heads / op.cache.kv_heads, kQueries);
    const dim3 grid(static_cast<unsigned>(op.splits), static_cast<unsigned>(op.cache.kv_heads * groups),
                    static_cast<unsigned>(op.tokens));
    launch(instance.kernel, grid, kThreads, instance.shared_bytes, stream, early, op);
    return instance.order;
}

}  // namespace octavo::cuda
