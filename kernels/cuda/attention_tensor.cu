// Attention on the tensor cores, one token a block. A block of four warps takes a
// share of the sequence, a warp every fourth tile of it; what the warps found is added up in their order.
#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/attention_stream.cuh"
#include "kernels/cuda/attention_warp.cuh"

namespace octavo::cuda {
namespace {

constexpr int kWarps = 4;

// Adds the warps' sums and writes the block's share. `shared` [kWarps][kColumns][kRowDim].
template <KvFormat vf>
__device__ void write_share(const SplitAttention& op, WarpState& state, int column0, int columns, int64_t row0,
                            float* shared) {
    __shared__ float largest[kWarps][kColumns];
    __shared__ float sums[kWarps][kColumns];
    const int lane = threadIdx.x % kWarp;
    const int warp = threadIdx.x / kWarp;
    const int g = lane / 4;
    const int t = lane % 4;
#pragma unroll
    for (int offset = 4; offset < kWarp; offset *= 2) {
#pragma unroll
        for (int i = 0; i < 2; ++i) state.sum[i] += __shfl_xor_sync(kAllLanes, state.sum[i], offset);
    }
    if (g == 0) {
        for (int i = 0; i < 2; ++i) {
            largest[warp][2 * t + i] = state.largest[i];
            sums[warp][2 * t + i] = state.sum[i];
        }
    }
    __syncthreads();
    float most[2];
    float factor[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        most[i] = -INFINITY;
        for (int w = 0; w < kWarps; ++w) most[i] = fmaxf(most[i], largest[w][2 * t + i]);
        factor[i] = state.largest[i] == -INFINITY ? 0.0f : exp2f(state.largest[i] - most[i]);
    }
    float* mine = shared + warp * kColumns * kRowDim;
#pragma unroll
    for (int m = 0; m < 16; ++m) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int dimension = value_dimension<vf>(m / 4, g) + m % 4 * 2 + i / 2;
            mine[(2 * t + i % 2) * kRowDim + dimension] = state.o[m][i] * factor[i % 2];
        }
    }
    __syncthreads();
    for (int column = 0; column < columns; ++column) {
        const int64_t at = (row0 + column0 + column) * op.splits + blockIdx.x;
        float found = -INFINITY;
        float sum = 0;
        for (int w = 0; w < kWarps; ++w) found = fmaxf(found, largest[w][column]);
        for (int w = 0; w < kWarps; ++w) {
            if (largest[w][column] != -INFINITY) sum += sums[w][column] * exp2f(largest[w][column] - found);
        }
        if (threadIdx.x == 0) op.softmax[at] = {found, sum};
        for (int i = threadIdx.x; i < kRowDim; i += blockDim.x) {
            float value = 0;
            for (int w = 0; w < kWarps; ++w) value += shared[(w * kColumns + column) * kRowDim + i];  // 0 without cells
            op.sums[at * kRowDim + i] = value;
        }
    }
}

// The formats as numbers, since kAnyFormat is none.
template <int k_format, int v_format>
__global__ void __launch_bounds__(kWarps* kWarp, 2) tensor_kernel(SplitAttention op) {
    constexpr auto kf = static_cast<KvFormat>(k_format);
    constexpr auto vf = static_cast<KvFormat>(v_format);
    __shared__ __align__(16) float shared[kWarps * kColumns * kRowDim];
    __shared__ Tables tables;
    if (uses_tables(kf) || uses_tables(vf)) fill_tables(tables);

    const int warp = threadIdx.x / kWarp;
    const int per_kv_head = op.heads / op.cache.kv_heads;
    const int column_groups = ceil_div(per_kv_head, kColumns);
    const int kv_head = blockIdx.y / column_groups;
    const int column0 = blockIdx.y % column_groups * kColumns;  // of the KV head's queries
    const int columns = min(kColumns, per_kv_head - column0);
    const int64_t first_cell = *op.first_cell;
    const int64_t position = first_cell + blockIdx.z;
    const int64_t row0 = int64_t{blockIdx.z} * op.heads + int64_t{kv_head} * per_kv_head;

    WarpState state;
    start_warp<kf>(op.q + (row0 + column0) * kRowDim, columns, op.cache.k.format == KvFormat::bf16, state);

    __shared__ __align__(16) f16_bits new_rows[2][kRowDim];
    if (op.new_k != nullptr) {
        for (int i = threadIdx.x; i < kRowDim; i += blockDim.x) {
            new_rows[0][i] = to_f16(op.new_k[kv_head * kRowDim + i]);
            new_rows[1][i] = to_f16(op.new_v[kv_head * kRowDim + i]);
        }
        __syncthreads();
    }
    const bool one_cell = op.new_k != nullptr;
    const Source k{op.cache, op.cache.k, op.fresh_k, first_cell, kv_head, one_cell ? new_rows[0] : nullptr};
    const Source v{op.cache, op.cache.v, op.fresh_v, first_cell, kv_head, one_cell ? new_rows[1] : nullptr};
    const auto attend = [&](int64_t tile) { attend_any<kf, vf>(k, v, position, tile, tables, state); };
    const int64_t tiles = position / kTileCells + 1;
    const int split = blockIdx.x;
    const auto share_of = [](int64_t count, int splits) {
        return ceil_div<int64_t>(ceil_div<int64_t>(count, splits), kWarps) * kWarps;
    };
    if constexpr (streams(kf, vf)) {
        TileRange bulk = bulk_tiles(op.cache, position);
        bulk = {min(bulk.first, tiles), min(bulk.end, tiles)};
        int64_t first = 0;  // of this split's tiles, and their end
        int64_t end = tiles;
        if (op.special_splits > 0) {
            const int64_t share = share_of(bulk.end - bulk.first, op.splits - op.special_splits);
            first = bulk.first + (split - op.special_splits) * share;
            end = min(bulk.end, first + share);
        } else {
            const int64_t share = share_of(tiles, op.splits);
            first = split * share;
            end = min(tiles, first + share);
        }
        if (split < op.special_splits) {
            const int64_t others = tiles - (bulk.end - bulk.first);
            for (int64_t i = split * kWarps + warp; i < others; i += op.special_splits * kWarps) {
                attend(i < bulk.first ? i : i - bulk.first + bulk.end);
            }
        } else {
            int64_t tile = first + warp;
            for (; tile < min(end, bulk.first); tile += kWarps) attend(tile);
            const int64_t stop = min(end, bulk.end);
            auto* const stage = reinterpret_cast<ChannelStage*>(shared) + warp;
            attend_stream<kf, vf>(k, v, tile, stop, kWarps, stage, tables, state);
            if (tile < stop) tile += ceil_div<int64_t>(stop - tile, kWarps) * kWarps;
            for (; tile < end; tile += kWarps) attend(tile);
        }
    } else {
        const int64_t share = share_of(tiles, op.splits);
        const int64_t end = min(tiles, (split + int64_t{1}) * share);
        for (int64_t tile = split * share + warp; tile < end; tile += kWarps) attend(tile);
    }
    __syncthreads();  // the stages' memory is used again
    write_share<vf>(op, state, column0, columns, row0, shared);
}

using Kernel = void (*)(SplitAttention);

template <KvFormat k, KvFormat v>
constexpr Kernel kernel_for() {
    return tensor_kernel<static_cast<int>(k), static_cast<int>(v)>;
}

// Schemes that people use have kernels of their own; every other pair shares one.
struct Instance {
    KvFormat k, v;
    Kernel kernel;
};
constexpr KvFormat f16 = KvFormat::f16, bf16 = KvFormat::bf16, q8_0 = KvFormat::q8_0, q6_0 = KvFormat::q6_0,
                   q4_0 = KvFormat::q4_0, q2c = KvFormat::q2c;
const Instance kInstances[] = {
    {f16, f16, kernel_for<f16, f16>()},     {bf16, bf16, kernel_for<bf16, bf16>()},
    {q8_0, q8_0, kernel_for<q8_0, q8_0>()}, {q6_0, q6_0, kernel_for<q6_0, q6_0>()},
    {q4_0, q4_0, kernel_for<q4_0, q4_0>()}, {q8_0, q4_0, kernel_for<q8_0, q4_0>()},
    {q2c, q4_0, kernel_for<q2c, q4_0>()},
};

Kernel kernel_of(const SplitAttention& op) {
    for (const Instance& instance : kInstances) {
        if (instance.k == op.cache.k.format && instance.v == op.cache.v.format) return instance.kernel;
    }
    return kernel_for<kAnyFormat, kAnyFormat>();
}

}  // namespace

void run_tensor_attention(const SplitAttention& op, int tokens, cudaStream_t stream) {
    const int groups = ceil_div(op.heads / op.cache.kv_heads, kColumns);
    const dim3 grid(static_cast<unsigned>(op.splits), static_cast<unsigned>(op.cache.kv_heads * groups),
                    static_cast<unsigned>(tokens));
    kernel_of(op)<<<grid, kWarps * kWarp, 0, stream>>>(op);
}

int special_splits(const SplitAttention& op) {
    for (const Instance& instance : kInstances) {
        if (instance.k == op.cache.k.format && instance.v == op.cache.v.format) {
            return streams(instance.k, instance.v) ? kSpecialSplits : 0;
        }
    }
    return 0;
}

int tensor_attention_blocks(const SplitAttention& op) {
    int blocks = 0;
    if (cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel_of(op), kWarps * kWarp, 0) != cudaSuccess)
        return 1;
    return blocks;
}

}  // namespace octavo::cuda
