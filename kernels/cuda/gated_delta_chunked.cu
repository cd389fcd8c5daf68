// The delta rule for chunks of 64 tokens (model_spec 4.7; formulas: kernels/reference/gated_delta_chunked.cpp), on
// tensor cores with TF32 factors. First, for all chunks at once, what does not need the state: U, W and the masked
// products of q and k. Then chunk after chunk, a block to 32 columns of a head's state, which a block's warps keep as
// 16 keys each. Long passes go in segments, so that the scratch has a bound.
#include <algorithm>

#include "kernels/cuda/gated_delta.cuh"
#include "kernels/cuda/mma.cuh"

namespace octavo::cuda {
namespace {

constexpr int kChunk = 64;
constexpr int kKeys = 128;
constexpr int kColumns = 32;  // of the state, to a block
constexpr int kThreads = 256;
constexpr int kSegmentChunks = 16;    // 1024 tokens
constexpr int kRowPitch = kKeys + 4;  // floats; rows g, columns t of a fragment meet in no bank
constexpr int kChunkPitch = kChunk + 4;
constexpr int kColumnPitch = kColumns + 2;  // rows 4t, columns g meet in no bank

// Of one chunk of one value head. Rows behind the last token are zero.
struct ChunkParts {
    float* u;      // [64][value_dim]
    float* w;      // [64][128]
    float* qk;     // [64][64]
    float* sum_g;  // [64]: g up to and including the token
};

struct Segment {
    GatedDelta op;
    Prepared from;
    float* parts;
    int first;  // token
    int tokens;
    int chunks;

    __host__ __device__ int64_t part_floats() const { return kChunk * (int64_t{op.value_dim} + kKeys + kChunk + 1); }
    __device__ ChunkParts part(int chunk, int head) const {
        float* u = parts + (int64_t{chunk} * op.value_heads + head) * part_floats();
        float* w = u + kChunk * op.value_dim;
        return {u, w, w + kChunk * kKeys, w + kChunk * (kKeys + kChunk)};
    }
    __device__ const float* row(const float* of, int token, int key_head) const {
        return of + (int64_t{first + token} * op.key_heads + key_head) * kKeys;
    }
};

// ---- without the state ----

struct ChunkShared {
    float k[kChunk][kRowPitch];
    float q[kChunk][kRowPitch];
    float a[kChunk][kChunkPitch];
    float sum_g[kChunk];
    float decay[kChunk];  // exp(sum_g)
    float beta[kChunk];
};

// rows 16 tile.. of x y^T for 64 rows of y, as C fragments.
__device__ inline void row_products(const float (*x)[kRowPitch], const float (*y)[kRowPitch], int tile,
                                    float (&c)[8][4]) {
    const int lane = threadIdx.x % kWarp;
    const int g = lane / 4;
    const int t = lane % 4;
#pragma unroll 2
    for (int step = 0; step < kKeys / 8; ++step) {
        const int column = 8 * step + t;
        const float* low = x[16 * tile + g];
        const float* high = x[16 * tile + g + 8];
        const uint32_t a[4] = {to_tf32(low[column]), to_tf32(high[column]), to_tf32(low[column + 4]),
                               to_tf32(high[column + 4])};
#pragma unroll
        for (int n = 0; n < 8; ++n) {
            const float* of = y[8 * n + g];
            mma_tf32(c[n], a, to_tf32(of[column]), to_tf32(of[column + 4]));
        }
    }
}

// (I + A) x = right side, for one column of it; A[i][j] is 0 from j = i on.
__device__ inline void substitute(const float (*a)[kChunkPitch], float (&x)[kChunk]) {
#pragma unroll
    for (int i = 1; i < kChunk; ++i) {
        float sums[2] = {x[i], 0};
#pragma unroll
        for (int j = 0; j < i; j += 4) {
            const float4 four = *reinterpret_cast<const float4*>(&a[i][j]);
            sums[0] = fmaf(-four.x, x[j], sums[0]);
            if (j + 1 < i) sums[1] = fmaf(-four.y, x[j + 1], sums[1]);
            if (j + 2 < i) sums[0] = fmaf(-four.z, x[j + 2], sums[0]);
            if (j + 3 < i) sums[1] = fmaf(-four.w, x[j + 3], sums[1]);
        }
        x[i] = sums[0] + sums[1];
    }
}

// A block to a chunk of a head.
__global__ void __launch_bounds__(kThreads, 2) chunk_kernel(Segment segment) {
    extern __shared__ __align__(16) unsigned char memory[];
    auto& shared = *reinterpret_cast<ChunkShared*>(memory);
    const GatedDelta& op = segment.op;
    const int chunk = blockIdx.x;
    const int head = blockIdx.y;
    const int token0 = chunk * kChunk;
    const int count = min(kChunk, segment.tokens - token0);
    const int warp = threadIdx.x / kWarp;
    const int lane = threadIdx.x % kWarp;
    const ChunkParts parts = segment.part(chunk, head);

    const int key_head = op.key_head_of_value_head[head];
#pragma unroll
    for (int turn = 0; turn < kChunk * kKeys / 4 / kThreads; ++turn) {
        const int i = turn * kThreads + static_cast<int>(threadIdx.x);
        const int token = i / (kKeys / 4);
        const int at = i % (kKeys / 4) * 4;
        const bool there = token < count;
        const float4 none = {};
        const float* k = segment.row(segment.from.k, token0 + (there ? token : 0), key_head) + at;
        const float* q = segment.row(segment.from.q, token0 + (there ? token : 0), key_head) + at;
        *reinterpret_cast<float4*>(&shared.k[token][at]) = there ? *reinterpret_cast<const float4*>(k) : none;
        *reinterpret_cast<float4*>(&shared.q[token][at]) = there ? *reinterpret_cast<const float4*>(q) : none;
    }
    if (warp == 0) {
        float sum = 0;
        for (int first = 0; first < kChunk; first += kWarp) {
            const int token = first + lane;
            const int64_t at = int64_t{segment.first + token0 + token} * op.value_heads + head;
            float g = token < count ? segment.from.decay[at] : 0.0f;
            shared.beta[token] = token < count ? segment.from.beta[at] : 0.0f;
#pragma unroll
            for (int offset = 1; offset < kWarp; offset *= 2) {
                const float before = __shfl_up_sync(kAllLanes, g, offset);
                if (lane >= offset) g += before;
            }
            shared.sum_g[token] = parts.sum_g[token] = sum + g;
            shared.decay[token] = expf(sum + g);
            sum += __shfl_sync(kAllLanes, g, kWarp - 1);
        }
    }
    __syncthreads();

    // Warps 0 to 3: A; 4 to 7: the products of q and k.
    {
        const bool is_a = warp < 4;
        float c[8][4] = {};
        row_products(is_a ? shared.k : shared.q, shared.k, warp % 4, c);
#pragma unroll
        for (int n = 0; n < 8; ++n) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const int row = 16 * (warp % 4) + lane / 4 + i / 2 * 8;
                const int column = 8 * n + lane % 4 * 2 + i % 2;
                const float decay = column <= row ? expf(shared.sum_g[row] - shared.sum_g[column]) : 0.0f;
                if (is_a) {
                    shared.a[row][column] = column < row ? shared.beta[row] * c[n][i] * decay : 0.0f;
                } else {
                    parts.qk[row * kChunk + column] = column <= row ? c[n][i] * decay : 0.0f;
                }
            }
        }
    }
    __syncthreads();

    const int64_t width = 2 * int64_t{op.key_heads} * kKeys + int64_t{op.value_heads} * op.value_dim;
    for (int column = threadIdx.x; column < op.value_dim + kKeys; column += kThreads) {
        const bool is_u = column < op.value_dim;
        const int key = column - op.value_dim;
        const float* v = op.qkv + int64_t{segment.first + token0} * width + 2 * int64_t{op.key_heads} * kKeys +
                         int64_t{head} * op.value_dim + column;
        float x[kChunk];
        if (is_u) {  // rows behind the last are written with strength 0
#pragma unroll
            for (int i = 0; i < kChunk; ++i) x[i] = v[min(i, count - 1) * width];
        } else {
#pragma unroll
            for (int i = 0; i < kChunk; ++i) x[i] = shared.decay[i] * shared.k[i][key];
        }
#pragma unroll
        for (int i = 0; i < kChunk; ++i) x[i] *= shared.beta[i];
        substitute(shared.a, x);
        float* const to = is_u ? parts.u + column : parts.w + key;
        const int step = is_u ? op.value_dim : kKeys;
#pragma unroll
        for (int i = 0; i < kChunk; ++i) to[i * step] = x[i];
    }
}

// ---- with the state ----

struct StateShared {
    float s[kKeys][kColumnPitch];         // as TF32
    float writes[kChunk][kColumnPitch];   // V of the formulas, as TF32
    float decayed[kChunk][kColumnPitch];  // times exp(G_last - G), as TF32
    float sum_g[kChunk];
};

// Inner dimension 16 j + 4 t + {0, 1, 2, 3} of lane t, which the four floats of `a` (row g) and `b` (row g + 8) are.
template <int n_tiles>
__device__ inline void products_16(const float4& a, const float4& b, const float (*right)[kColumnPitch], int j,
                                   float (&c)[n_tiles][4]) {
    const int g = threadIdx.x % kWarp / 4;
    const int row = 16 * j + threadIdx.x % 4 * 4;
    const uint32_t first[4] = {to_tf32(a.x), to_tf32(b.x), to_tf32(a.y), to_tf32(b.y)};
    const uint32_t second[4] = {to_tf32(a.z), to_tf32(b.z), to_tf32(a.w), to_tf32(b.w)};
#pragma unroll
    for (int n = 0; n < n_tiles; ++n) {
        const auto at = [&](int i) { return __float_as_uint(right[row + i][8 * n + g]); };
        mma_tf32(c[n], first, at(0), at(1));
        mma_tf32(c[n], second, at(2), at(3));
    }
}

// Blocks [value_dim / 32][value_heads]
__global__ void __launch_bounds__(kThreads, 1) state_kernel(Segment segment) {
    __shared__ StateShared shared;
    constexpr int kTiles = kColumns / 8;
    const GatedDelta& op = segment.op;
    const int head = blockIdx.y;
    const int column0 = blockIdx.x * kColumns;
    const int warp = threadIdx.x / kWarp;
    const int lane = threadIdx.x % kWarp;
    const int g = lane / 4;
    const int t = lane % 4;
    const int key_head = op.key_head_of_value_head[head];
    const bool writes = warp < 4;         // works out what is written; the others what is read
    const int row = 16 * (warp % 4) + g;  // token of the chunk; and the one 8 later
    const int key = 16 * warp + g;        // of the state; likewise

    float* const state = op.state + int64_t{head} * kKeys * op.value_dim + column0;
    float s[kTiles][4];
#pragma unroll
    for (int n = 0; n < kTiles; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) s[n][i] = state[int64_t{key + i / 2 * 8} * op.value_dim + 8 * n + 2 * t + i % 2];
    }
    const auto share_state = [&] {
#pragma unroll
        for (int n = 0; n < kTiles; ++n) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                shared.s[key + i / 2 * 8][8 * n + 2 * t + i % 2] = __uint_as_float(to_tf32(s[n][i]));
            }
        }
    };
    share_state();

    float4 rows[2][kKeys / 16];  // of W, or of q
    const auto load_rows = [&](int chunk) {
        const ChunkParts parts = segment.part(chunk, head);
        const int token0 = chunk * kChunk;
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int token = row + 8 * i;
            const float* from = writes ? parts.w + token * kKeys
                                       : segment.row(segment.from.q, min(token0 + token, segment.tokens - 1), key_head);
#pragma unroll
            for (int j = 0; j < kKeys / 16; ++j) rows[i][j] = *reinterpret_cast<const float4*>(from + 16 * j + 4 * t);
        }
    };
    load_rows(0);
    for (int chunk = 0; chunk < segment.chunks; ++chunk) {
        const int token0 = chunk * kChunk;
        const int count = min(kChunk, segment.tokens - token0);
        const ChunkParts parts = segment.part(chunk, head);
        // What comes from memory is under way while the products before it are worked out.
        float4 keys[2][kChunk / 16];  // of k, transposed
#pragma unroll
        for (int j = 0; j < kChunk / 16; ++j) {
            float four[2][4];
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const int token = 16 * j + 4 * t + i;
                const float* k = segment.row(segment.from.k, token0 + min(token, count - 1), key_head);
                four[0][i] = token < count ? k[key] : 0.0f;
                four[1][i] = token < count ? k[key + 8] : 0.0f;
            }
            keys[0][j] = {four[0][0], four[0][1], four[0][2], four[0][3]};
            keys[1][j] = {four[1][0], four[1][1], four[1][2], four[1][3]};
        }
        float4 more[2][kChunk / 16];  // U, as C fragments; or the products of q and k
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int token = row + 8 * i;
#pragma unroll
            for (int j = 0; j < kChunk / 16; ++j) {
                if (writes) {
                    const float2 two =
                        *reinterpret_cast<const float2*>(parts.u + token * op.value_dim + column0 + 8 * j + 2 * t);
                    more[i][j] = {two.x, two.y, 0, 0};
                } else {
                    more[i][j] = *reinterpret_cast<const float4*>(parts.qk + token * kChunk + 16 * j + 4 * t);
                }
            }
        }
        if (threadIdx.x < kChunk) shared.sum_g[threadIdx.x] = parts.sum_g[threadIdx.x];
        __syncthreads();

        const float last = shared.sum_g[kChunk - 1];
        float c[kTiles][4] = {};
#pragma unroll
        for (int j = 0; j < kKeys / 16; ++j) products_16(rows[0][j], rows[1][j], shared.s, j, c);
        if (chunk + 1 < segment.chunks) load_rows(chunk + 1);
        if (writes) {
            static_assert(kTiles == kChunk / 16);
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                const int token = row + 8 * i;
                const float factor = expf(last - shared.sum_g[token]);
#pragma unroll
                for (int n = 0; n < kTiles; ++n) {
                    const float two[2] = {more[i][n].x - c[n][2 * i], more[i][n].y - c[n][2 * i + 1]};
                    const int column = 8 * n + 2 * t;
#pragma unroll
                    for (int e = 0; e < 2; ++e) {
                        shared.writes[token][column + e] = __uint_as_float(to_tf32(two[e]));
                        shared.decayed[token][column + e] = __uint_as_float(to_tf32(two[e] * factor));
                    }
                }
            }
        }
        __syncthreads();

        if (!writes) {
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                const float factor = expf(shared.sum_g[row + 8 * i]);
#pragma unroll
                for (int n = 0; n < kTiles; ++n) c[n][2 * i] *= factor, c[n][2 * i + 1] *= factor;
            }
#pragma unroll
            for (int j = 0; j < kChunk / 16; ++j) products_16(more[0][j], more[1][j], shared.writes, j, c);
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                const int token = row + 8 * i;
                if (token >= count) continue;
                float* out = op.out + (int64_t{segment.first + token0 + token} * op.value_heads + head) * op.value_dim +
                             column0 + 2 * t;
#pragma unroll
                for (int n = 0; n < kTiles; ++n) {
                    *reinterpret_cast<float2*>(out + 8 * n) = {c[n][2 * i], c[n][2 * i + 1]};
                }
            }
        }
        const float factor = expf(last);
#pragma unroll
        for (int n = 0; n < kTiles; ++n) {
#pragma unroll
            for (int i = 0; i < 4; ++i) s[n][i] *= factor;
        }
#pragma unroll
        for (int j = 0; j < kChunk / 16; ++j) products_16(keys[0][j], keys[1][j], shared.decayed, j, s);
        share_state();    // nobody reads the one before any more
        __syncthreads();  // before the next chunk's sums of g
    }
#pragma unroll
    for (int n = 0; n < kTiles; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) state[int64_t{key + i / 2 * 8} * op.value_dim + 8 * n + 2 * t + i % 2] = s[n][i];
    }
}

}  // namespace

bool runs_chunked(const GatedDelta& op) {
    return op.key_dim == kKeys && op.value_dim % kColumns == 0 && op.value_dim > 0;
}

int64_t chunked_scratch_bytes(const GatedDelta& op) {
    const int chunks = std::min(kSegmentChunks, ceil_div(op.tokens, kChunk));
    const Segment segment{op, {}, nullptr, 0, 0, 0};
    return chunks * op.value_heads * segment.part_floats() * static_cast<int64_t>(sizeof(float));
}

void prepare_chunked() {
    (void)cudaFuncSetAttribute(chunk_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(ChunkShared));
}

void run_chunked(const GatedDelta& op, const Prepared& from, std::byte* scratch, cudaStream_t stream) {
    const auto heads = static_cast<unsigned>(op.value_heads);
    for (int first = 0; first < op.tokens; first += kSegmentChunks * kChunk) {
        const int tokens = std::min(kSegmentChunks * kChunk, op.tokens - first);
        const Segment segment{op, from, reinterpret_cast<float*>(scratch), first, tokens, ceil_div(tokens, kChunk)};
        const dim3 chunks(static_cast<unsigned>(segment.chunks), heads);
        chunk_kernel<<<chunks, kThreads, sizeof(ChunkShared), stream>>>(segment);
        const dim3 columns(static_cast<unsigned>(op.value_dim / kColumns), heads);
        state_kernel<<<columns, kThreads, 0, stream>>>(segment);
    }
}

}  // namespace octavo::cuda
