// Products of weights of few bits (int8_weights.cuh) with a few tokens, in whole numbers: of the inputs, every 32
// columns have a scale and 16-bit numbers, kept as two int8 each, so that four products and their sum are one
// instruction for either half. What rounding inputs to 16 bits changes is all that is not exact, up to one product in
// float32 by scale.
//
// A warp multiplies a few rows of a matrix. Their bytes go to shared memory behind its back, a piece of the columns at
// a time and the next step's while one is computed: rows of most types start at any even address, and only this way
// they come in wide reads.
#pragma once

#include <algorithm>
#include <span>

#include "kernels/cuda/int8_weights.cuh"
#include "kernels/cuda/shared_tile.cuh"
#include "kernels/cuda/weights.cuh"

namespace octavo::cuda::int8_rows {

inline constexpr int kRows = 2;          // of a lane at a time
inline constexpr int kStages = 2;        // pieces of a warp on their way or in use
inline constexpr int kSegment = 16;      // columns
inline constexpr int kUnit = 32;         // columns, with one scale of inputs
inline constexpr int kColumnStep = 256;  // pieces are so many columns, or a multiple; blocks of all types divide it

// Whether these kernels can take the matrix.
inline bool reads(const DeviceMatrix& w) {
    const bool wide_blocks = w.type == WeightType::q4_k || w.type == WeightType::q5_k;
    return is_int8_type(w.type) && (!wide_blocks || reinterpret_cast<uintptr_t>(w.data) % 16 == 0);
}
// Whether they can take the inputs.
inline bool reads(const float* x, int64_t stride) {
    return reinterpret_cast<uintptr_t>(x) % 16 == 0 && stride % 4 == 0;
}

// ---- inputs ----

// x = scale * (256 * high + low). Segments lie so that lanes that read those of a unit of any type meet in no bank.
struct Inputs {
    struct Scale {
        float scale;
        int sum;  // of the segment's whole numbers
    };
    uint4* high;  // [tokens][segments]
    uint4* low;
    Scale* scales;
    int segments;  // of a token; a multiple of 16

    static constexpr int kBytes = 2 * sizeof(uint4) + sizeof(Scale);  // of a segment
    __host__ __device__ static int bytes(int tokens, int columns) { return tokens * (columns / kSegment) * kBytes; }

    // memory: at a multiple of 16; columns: a multiple of kColumnStep.
    __device__ Inputs(void* memory, int tokens, int columns)
        : high(static_cast<uint4*>(memory)),
          low(high + tokens * (columns / kSegment)),
          scales(reinterpret_cast<Scale*>(low + tokens * (columns / kSegment))),
          segments(columns / kSegment) {}
    __device__ int place(int token, int segment) const {
        return token * segments + (segment ^ ((segment & 8) != 0 ? 7 : 0));
    }
};

// Eight inputs, those of four neighbouring lanes a unit. Inputs below 2^-100 count as 0.
__device__ inline void stage_eight(const float (&x)[8], const Inputs& to, int token, int eight, bool there) {
    constexpr float kLargest = 32512;  // 127 * 256: the low half may carry into the high one
    unsigned largest_bits = 0;         // as whole numbers: what is not a number is the largest
#pragma unroll
    for (const float value : x) largest_bits = max(largest_bits, __float_as_uint(value) & 0x7fffffffu);
    largest_bits = max(largest_bits, __shfl_xor_sync(kAllLanes, largest_bits, 1));
    largest_bits = max(largest_bits, __shfl_xor_sync(kAllLanes, largest_bits, 2));
    const float largest = __uint_as_float(largest_bits);
    const float inverse = largest < 0x1p-100f ? 0.0f : kLargest / largest;
    unsigned halves[2][2];  // [high, low][four values]
    int sum = 0;
#pragma unroll
    for (int four = 0; four < 2; ++four) {
        unsigned whole[4], rounded[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int value = __float2int_rn(x[4 * four + i] * inverse);
            sum += value;
            whole[i] = static_cast<unsigned>(value);
            rounded[i] = static_cast<unsigned>(value + 128);
        }
        halves[0][four] = __byte_perm(__byte_perm(rounded[0], rounded[1], 0x0051u),
                                      __byte_perm(rounded[2], rounded[3], 0x0051u), 0x5410u);
        halves[1][four] =
            __byte_perm(__byte_perm(whole[0], whole[1], 0x0040u), __byte_perm(whole[2], whole[3], 0x0040u), 0x5410u);
    }
    sum += __shfl_xor_sync(kAllLanes, sum, 1);
    if (!there) return;
    const int place = to.place(token, eight / 2);
    reinterpret_cast<uint2*>(to.high + place)[eight % 2] = {halves[0][0], halves[0][1]};
    reinterpret_cast<uint2*>(to.low + place)[eight % 2] = {halves[1][0], halves[1][1]};
    if (eight % 2 == 0) to.scales[place] = {largest * (1 / kLargest), sum};
}

// `columns`, a multiple of 32, from x on, by `threads` threads, whole warps, of which this is number `thread`.
__device__ inline void stage_inputs(const float* x, int columns, const Inputs& to, int token, int thread, int threads) {
    const int lane = thread % kWarp;
    for (int first = thread - lane; first < columns / 8; first += threads) {
        const int eight = first + lane;
        const bool there = eight < columns / 8;
        float values[8] = {};
        if (there) inputs_at<true>(x, eight * 8, columns, values);
        stage_eight(values, to, token, eight, there);
    }
}

// ---- rows ----

// How the columns of a product are divided.
struct Columns {
    int all;
    int piece;   // of a step: a multiple of kColumnStep; lanes share each row of it
    int staged;  // inputs at a time, a multiple of `piece`
    int lanes;   // to a row: 32, or fewer where rows are short
    int stride;  // bytes of a row in its stage

    __host__ __device__ int pieces() const { return (all + piece - 1) / piece; }
    __host__ __device__ int rows() const { return kRows * (kWarp / lanes); }  // of a warp at a time
    __host__ __device__ int stage_bytes() const { return rows() * stride; }
    // Of a warp; what is read beyond the last row is there.
    __host__ __device__ int warp_bytes() const { return kStages * stage_bytes() + 16; }
};

// A warp's rows of a step.
struct Slice {
    const unsigned char* data;  // of the first row
    int64_t row_bytes;
    int rows;   // that are there; the last one stands for those beyond
    int bytes;  // of a row
    int columns;

    __device__ const unsigned char* row(int index) const { return data + min(index, rows - 1) * row_bytes; }
};

__device__ inline Slice slice_of(const DeviceMatrix& w, int64_t first_row, int piece, const Columns& columns) {
    Slice slice = {};
    slice.row_bytes = w.row_bytes;
    slice.columns = min(columns.piece, columns.all - piece * columns.piece);
    slice.bytes = static_cast<int>(w.row_bytes);
    slice.data = w.data + first_row * w.row_bytes;
    if (columns.piece < columns.all) {
        const int step_bytes = slice.bytes * kColumnStep / columns.all;
        const int before = step_bytes * (piece * columns.piece / kColumnStep);
        slice.data += before;
        slice.bytes = min(slice.bytes - before, step_bytes * (columns.piece / kColumnStep));
    }
    slice.rows = static_cast<int>(min(w.rows - first_row, int64_t{columns.rows()}));
    return slice;
}

// The bytes [0, count) of 16, zeros behind them, under way until `wait_copies`.
__device__ inline void copy_part_of_16(unsigned char* to_shared, const unsigned char* from, int count) {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to_shared)), "l"(from),
                 "r"(count));
#else
    if (count == 16) return copy_16(to_shared, from);
    for (int i = 0; i < count; ++i) to_shared[i] = __ldg(from + i);
#endif
}

// Each row comes with what shares 16 bytes with its start: it lies there as far from a multiple of 16 as in the matrix.
__device__ inline void fetch(const Slice& slice, unsigned char* stage, const Columns& columns) {
    const int lane = threadIdx.x % kWarp;
    for (int r = 0; r < columns.rows(); ++r) {
        const unsigned char* const row = slice.row(r);
        const int past = static_cast<int>(reinterpret_cast<uintptr_t>(row) % 16);
        const int end = past + slice.bytes;
        for (int at = lane * 16; at < end; at += kWarp * 16) {
            copy_part_of_16(stage + r * columns.stride + at, row - past + at, min(16, end - at));
        }
    }
}

// sums[row][token] += the lane's share; row r is number r of the lane's group.
template <WeightType type, int tokens>
__device__ inline void add_dots(const Slice& slice, const unsigned char* stage, const Columns& columns, const Inputs& x,
                                int first_segment, float (&sums)[kRows][tokens]) {
    using Weights = Int8Weights<type>;
    const int lane = threadIdx.x % kWarp;
    const unsigned char* rows[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
        const int row = lane / columns.lanes * kRows + r;
        rows[r] = stage + row * columns.stride + reinterpret_cast<uintptr_t>(slice.row(row)) % 16;
    }
    for (int unit = lane % columns.lanes; unit < slice.columns / kUnit; unit += columns.lanes) {
        Int8Unit w[kRows];
#pragma unroll
        for (int r = 0; r < kRows; ++r) Weights::load(rows[r], unit, w[r]);
#pragma unroll
        for (int t = 0; t < tokens; ++t) {
            int dots[kRows] = {};
            int sum = 0;
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int place = x.place(t, first_segment + Weights::segment(unit, half));
                const uint4 high = x.high[place];
                const uint4 low = x.low[place];
                const Inputs::Scale scale = x.scales[place];
                sum += scale.sum;
#pragma unroll
                for (int r = 0; r < kRows; ++r) {
                    const uint32_t(&codes)[4] = w[r].codes[half];
                    const auto dot = [&](const uint4& part) {
                        int all = __dp4a(static_cast<int>(codes[0]), static_cast<int>(part.x), 0);
                        all = __dp4a(static_cast<int>(codes[1]), static_cast<int>(part.y), all);
                        all = __dp4a(static_cast<int>(codes[2]), static_cast<int>(part.z), all);
                        return __dp4a(static_cast<int>(codes[3]), static_cast<int>(part.w), all);
                    };
                    dots[r] += 256 * dot(high) + dot(low);
                }
                if (Weights::kOneScale && half == 0) continue;
#pragma unroll
                for (int r = 0; r < kRows; ++r) {
                    const int of = Weights::kOneScale ? 0 : half;
                    const float product = scale.scale * static_cast<float>(dots[r] - Weights::kZero * sum);
                    sums[r][t] = fmaf(w[r].scale[of], product, sums[r][t]);
                    if constexpr (Weights::kHasOffset) {
                        sums[r][t] = fmaf(w[r].offset[of], scale.scale * static_cast<float>(sum), sums[r][t]);
                    }
                    dots[r] = 0;
                }
                sum = 0;
            }
        }
    }
}

template <int tokens>
__device__ inline void add_dots(WeightType type, const Slice& slice, const unsigned char* stage, const Columns& columns,
                                const Inputs& x, int first_segment, float (&sums)[kRows][tokens]) {
    with_int8_type(type, [&](auto constant) {
        add_dots<decltype(constant)::value>(slice, stage, columns, x, first_segment, sums);
    });
}

// The sum over the lanes of a row, in each of them.
__device__ inline float sum_of_row(float value, int lanes) {
    for (int offset = lanes / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(kAllLanes, value, offset);
    return value;
}

// ---- steps ----

// Steps of a warp, all of a block as many: fetch(step, stage) asks for the step's bytes, prepare(step) makes its inputs
// ready meanwhile, use(step, stage) computes.
template <class Fetch, class Prepare, class Use>
__device__ inline void run_steps(int steps, unsigned char* stages, const Columns& columns, Fetch&& fetch,
                                 Prepare&& prepare, Use&& use) {
    const auto fetch_if_any = [&](int step) {
        if (step < steps) fetch(step, stages + step % kStages * columns.stage_bytes());
        end_copies();
    };
    for (int step = 0; step < kStages - 1; ++step) fetch_if_any(step);
    for (int step = 0; step < steps; ++step) {
        fetch_if_any(step + kStages - 1);
        prepare(step);
        wait_copies<kStages - 1>();
        __syncwarp();
        use(step, stages + step % kStages * columns.stage_bytes());
        __syncwarp();
    }
}

// ---- shapes ----

struct SharedMemory {
    int of_multiprocessor;
    int of_block;  // at most
};
inline SharedMemory shared_memory() {
    SharedMemory memory = {};
    int device = 0;
    (void)cudaGetDevice(&device);
    (void)cudaDeviceGetAttribute(&memory.of_multiprocessor, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device);
    (void)cudaDeviceGetAttribute(&memory.of_block, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    return memory;
}
inline constexpr int kBlocks = 3;              // of a multiprocessor, where its shared memory holds them
inline constexpr int kReservedOfBlock = 1024;  // of shared memory

// Pieces as large as leave room for kBlocks blocks, of which block_bytes(columns) tells what one takes. `inputs`:
// columns of a token that are staged at most, where that is a piece or more.
template <class BlockBytes>
Columns divide_columns(std::span<const DeviceMatrix> matrices, int inputs, int lanes, BlockBytes&& block_bytes) {
    const int room = shared_memory().of_multiprocessor / kBlocks - kReservedOfBlock;
    Columns columns = {};
    columns.lanes = lanes;
    for (const DeviceMatrix& w : matrices) columns.all = std::max(columns.all, static_cast<int>(w.cols));
    const int padded = ceil_div(columns.all, kColumnStep) * kColumnStep;
    for (const int most : {2048, 1024}) {
        columns.piece = std::min(most, padded);
        columns.staged = std::clamp(inputs / columns.piece, 1, columns.pieces()) * columns.piece;
        int64_t bytes = 0;
        for (const DeviceMatrix& w : matrices) {
            bytes = std::max(bytes, std::min(w.row_bytes, ceil_div(w.row_bytes * columns.piece, w.cols)));
        }
        columns.stride = static_cast<int>(ceil_div<int64_t>(bytes, 16) * 16 + 16);
        if (block_bytes(columns) <= room) break;
    }
    return columns;
}

}  // namespace octavo::cuda::int8_rows
