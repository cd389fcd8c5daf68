// What happens to new keys and values: into the cache's basis, into the bulk, and into the FP16 copies.
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/kv_encode.cuh"
#include "kernels/cuda/kv_layout.cuh"
#include "kernels/kv_hadamard.h"

namespace octavo::cuda {
namespace {

// ---- basis ----

struct Basis {
    float* rows;         // [count][dim]
    const float* scale;  // [period][dim] rows are divided by; nullptr: none
    int period;
    int dim;
    int group;  // of the transform; 1: none
};

// A block to a row.
__global__ void basis_kernel(Basis op) {
    extern __shared__ float row[];  // [dim]
    float* x = op.rows + int64_t{blockIdx.x} * op.dim;
    for (int i = threadIdx.x; i < op.dim; i += blockDim.x) {
        row[i] = op.scale == nullptr ? x[i] : x[i] / op.scale[int64_t{blockIdx.x} % op.period * op.dim + i];
    }
    __syncthreads();
    for (int half = 1; half < op.group; half *= 2) {
        for (int pair = threadIdx.x; pair < op.dim / 2; pair += blockDim.x) {
            const int i = pair / half * 2 * half + pair % half;  // groups are multiples of 2 half
            const float a = row[i];
            const float b = row[i + half];
            row[i] = a + b;
            row[i + half] = a - b;
        }
        __syncthreads();
    }
    const float factor = 1.0f / sqrtf(static_cast<float>(op.group));
    for (int i = threadIdx.x; i < op.dim; i += blockDim.x) x[i] = op.group > 1 ? row[i] * factor : row[i];
}

// ---- store ----

struct Store {
    Cache cache;
    KvEncoder encoder;
    const float* k;  // [T][kv_heads][head_dim]; nullptr: left alone
    const float* v;
    int tokens;
    const int64_t* first_cell;
    int32_t* not_encodable;

    __device__ const float* rows(int side) const { return side == 0 ? k : v; }
    __device__ const Side& side(int index) const { return index == 0 ? cache.k : cache.v; }
};

template <class T, class Convert>
__device__ bool store_raw(const float* x, int dim, uint8_t* row, Convert convert) {
    bool good = true;
    for (int i = threadIdx.x % kWarp; i < dim; i += kWarp) {
        float back;
        reinterpret_cast<T*>(row)[i] = convert(x[i], back);
        good = good && isfinite(back);
    }
    return good;
}

// Row formats with one scale: q8r, q6r, q4r.
__device__ bool store_row_scaled(KvFormat format, const float* x, int dim, uint8_t* row, f16_bits* scale) {
    const int lane = threadIdx.x % kWarp;
    float largest = 0;
    bool finite = true;
    for (int i = lane; i < dim; i += kWarp) {
        finite = finite && isfinite(x[i]);
        largest = fmaxf(largest, fabsf(x[i]));
    }
    largest = warp_max(largest);
    if (!__all_sync(kAllLanes, finite)) return false;
    const int top = format == KvFormat::q8r ? 127 : format == KvFormat::q6r ? 31 : 7;
    const f16_bits bits = to_f16(fmaxf(largest, 1e-6f) / static_cast<float>(top));
    const float d = from_f16(bits);
    if (!isfinite(d)) return false;
    if (lane == 0) *scale = bits;
    const auto code = [&](int i) { return quantise(x[i], d, -top, top); };
    if (format == KvFormat::q8r) {
        for (int i = lane; i < dim; i += kWarp) row[i] = static_cast<uint8_t>(code(i) & 0xff);
    } else if (format == KvFormat::q4r) {
        for (int i = lane; i < dim / 2; i += kWarp) {
            row[i] = static_cast<uint8_t>((code(2 * i) & 15) | (code(2 * i + 1) & 15) << 4);
        }
    } else {
        for (int i = lane; i < dim / 4; i += kWarp) {
            unsigned packed = 0;
            for (int j = 0; j < 4; ++j) packed |= static_cast<unsigned>(code(4 * i + j) + 32) << (6 * j);
            for (int j = 0; j < 3; ++j) row[3 * i + j] = static_cast<uint8_t>(packed >> (8 * j) & 0xffu);
        }
    }
    return true;
}

// A warp to the row of a head; lanes take blocks of 32 values.
__device__ bool store_row(const Store& op, const Side& side, const float* x, int64_t cell, int head) {
    const int dim = op.cache.head_dim;
    const int64_t unit = unit_of(op.cache, side, cell, head);
    uint8_t* row = side.payload + unit * side.payload_bytes;
    f16_bits* scales = side.scales + unit * side.scale_count;
    switch (side.format) {
        case KvFormat::f32: return store_raw<float>(x, dim, row, [](float value, float& back) { return back = value; });
        case KvFormat::f16:
            return store_raw<f16_bits>(x, dim, row, [](float value, float& back) {
                const f16_bits bits = to_f16(value);
                back = from_f16(bits);
                return bits;
            });
        case KvFormat::bf16:
            return store_raw<bf16_bits>(x, dim, row, [](float value, float& back) {
                const bf16_bits bits = __bfloat16_as_ushort(__float2bfloat16_rn(value));
                back = __uint_as_float(static_cast<unsigned>(bits) << 16);
                return bits;
            });
        case KvFormat::q8r:
        case KvFormat::q6r:
        case KvFormat::q4r: return store_row_scaled(side.format, x, dim, row, scales);
        default: break;
    }
    bool good = true;
    for (int block = threadIdx.x % kWarp; block < dim / kKvBlock; block += kWarp) {
        float values[kKvBlock];
        for (int i = 0; i < kKvBlock; ++i) values[i] = x[block * kKvBlock + i];
        good = store_block(side.format, values, block, dim, row, scales, op.encoder) && good;
    }
    return good;
}

// Channels of the group that ends before `end`: cells from the open buffer, then from the new rows, all as FP16.
__device__ bool store_group(const Store& op, const Side& side, const float* rows, int64_t first_cell, int64_t end,
                            int head) {
    const int dim = op.cache.head_dim;
    const int64_t unit = unit_of(op.cache, side, end - 1, head);
    bool good = true;
    for (int channel = threadIdx.x % kWarp; channel < dim; channel += kWarp) {
        float values[kKvBlock];
        for (int i = 0; i < kKvGroupCells; ++i) {
            const int64_t cell = end - kKvGroupCells + i;
            const f16_bits bits = cell < first_cell
                                      ? side.open[(cell % kKvGroupCells * op.cache.kv_heads + head) * dim + channel]
                                      : to_f16(rows[((cell - first_cell) * op.cache.kv_heads + head) * dim + channel]);
            values[i] = from_f16(bits);
        }
        uint8_t* run = side.payload + unit * side.payload_bytes + channel * 8;
        f16_bits* scale = side.scales + unit * side.scale_count + channel;
        good = store_block(KvFormat::q2c, values, 0, kKvBlock, run, scale, op.encoder) && good;
    }
    return good;
}

// grid: [T][kv_heads][2: K, V], a warp each.
__global__ void __launch_bounds__(kWarp) store_kernel(Store op) {
    const int head = blockIdx.y;
    const Side& side = op.side(blockIdx.z);
    const float* rows = op.rows(blockIdx.z);
    if (rows == nullptr) return;
    const int64_t first_cell = *op.first_cell;
    const int64_t cell = first_cell + blockIdx.x;
    if (side.per_channel && (cell + 1) % kKvGroupCells != 0) return;
    const float* x = rows + (int64_t{blockIdx.x} * op.cache.kv_heads + head) * op.cache.head_dim;
    const bool good =
        side.per_channel ? store_group(op, side, rows, first_cell, cell + 1, head) : store_row(op, side, x, cell, head);
    if (!good) *op.not_encodable = 1;  // whoever writes it writes the same
}

// ---- FP16 copies ----

// A ring of n slots keeps the newest n cells: of several cells of a pass for one slot, only the last writes.
__device__ bool newest_in(int64_t slots, int64_t cell, int64_t end) { return slots > 0 && cell >= end - slots; }

__global__ void overlay_kernel(Store op) {
    const Side& side = op.side(blockIdx.z);
    const float* rows = op.rows(blockIdx.z);
    if (rows == nullptr) return;
    const int64_t cell = *op.first_cell + blockIdx.x;
    const int64_t end = *op.first_cell + op.tokens;
    const int64_t width = int64_t{op.cache.kv_heads} * op.cache.head_dim;
    for (int64_t i = threadIdx.x; i < width; i += blockDim.x) {
        const f16_bits bits = to_f16(rows[blockIdx.x * width + i]);
        if (side.open != nullptr && newest_in(kKvGroupCells, cell, end))
            side.open[cell % kKvGroupCells * width + i] = bits;
        if (cell < op.cache.sinks) side.sink[cell * width + i] = bits;
        if (newest_in(op.cache.window, cell, end)) side.ring[cell % op.cache.window * width + i] = bits;
    }
}

void to_basis(float* rows, int64_t count, int dim, bool rotate, const float* scale, int period, cudaStream_t stream) {
    if (rows == nullptr || count == 0 || (!rotate && scale == nullptr)) return;
    const Basis op{rows, scale, period, dim, rotate ? hadamard_group(dim) : 1};
    const auto bytes = static_cast<size_t>(dim) * sizeof(float);
    basis_kernel<<<static_cast<unsigned>(count), 128, bytes, stream>>>(op);
}

}  // namespace

void CudaBackend::kv_basis(const KvRows& rows, float* q, int heads) {
    const KvView& cache = rows.cache;
    const int dim = cache.head_dim;
    const int64_t kv_rows = int64_t{rows.tokens} * cache.kv_heads;
    to_basis(q, int64_t{rows.tokens} * heads, dim, cache.k.rotate, nullptr, 1, stream_);
    to_basis(rows.k, kv_rows, dim, cache.k.rotate, nullptr, 1, stream_);
    to_basis(rows.v, kv_rows, dim, cache.v.rotate, cache.v_scale, cache.kv_heads, stream_);
    launched();
}

bool CudaBackend::kv_store(const KvRows& rows) {
    const Store op{
        device_cache(rows.cache),          rows.cache.encoder, rows.k, rows.v, rows.tokens, position(rows.first_cell),
        &flags_.as<Flags>()->not_encodable};
    const dim3 grid(static_cast<unsigned>(rows.tokens), static_cast<unsigned>(rows.cache.kv_heads), 2);
    store_kernel<<<grid, kWarp, 0, stream_>>>(op);
    launched();
    return true;
}

void CudaBackend::kv_overlay(const KvRows& rows) {
    const KvView& cache = rows.cache;
    const bool nothing =
        cache.overlay.sinks == 0 && cache.overlay.window == 0 && cache.k.open == nullptr && cache.v.open == nullptr;
    if (nothing) return;
    const Store op{device_cache(cache), cache.encoder, rows.k, rows.v, rows.tokens, position(rows.first_cell), nullptr};
    const dim3 grid(static_cast<unsigned>(rows.tokens), 1, 2);
    overlay_kernel<<<grid, 256, 0, stream_>>>(op);
    launched();
}

}  // namespace octavo::cuda
