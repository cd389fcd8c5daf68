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
#include "kernels/cuda/shared_memory.h"
#include "kernels/cuda/shared_tile.cuh"
#include "kernels/cuda/weights.cuh"

namespace octavo::cuda::int8_rows {

inline constexpr int kRows = 2;          // of a lane at a time
inline constexpr int kStages = 2;        // of a warp: one on its way, one in use
inline constexpr int kSegment = 16;      // columns
inline constexpr int kLongestUnit = 64;  // columns
inline constexpr int kColumnStep = 512;  // pieces are so many columns, or a multiple; blocks of all types divide it

// Whether these kernels can take the matrix.
inline bool reads(const DeviceMatrix& w) {
    const bool wide_blocks = w.type == WeightType::q4_k || w.type == WeightType::q5_k;
    return is_int8_type(w.type) && w.cols % kLongestUnit == 0 &&
           (!wide_blocks || reinterpret_cast<uintptr_t>(w.data) % 16 == 0);
}
// Whether they can take the inputs.
inline bool reads(const float* x, int64_t stride) {
    return reinterpret_cast<uintptr_t>(x) % 16 == 0 && stride % 4 == 0;
}

// ---- inputs ----

// x = scale * (256 * high + low), a scale to 32 columns. Segments lie so that lanes that read those of a unit of any
// type meet in no bank.
struct Inputs {
    struct Scale {
        float scale;
        int sum;  // of the segment's whole numbers
    };
    uint4* high;  // [tokens][segments]
    uint4* low;
    Scale* scales;
    int segments;  // of a token; a multiple of 32

    static constexpr int kBytes = 2 * sizeof(uint4) + sizeof(Scale);  // of a segment
    __host__ __device__ static int bytes(int tokens, int columns) { return tokens * (columns / kSegment) * kBytes; }

    // memory: at a multiple of 16; columns: a multiple of kColumnStep.
    __device__ Inputs(void* memory, int tokens, int columns)
        : high(static_cast<uint4*>(memory)),
          low(high + tokens * (columns / kSegment)),
          scales(reinterpret_cast<Scale*>(low + tokens * (columns / kSegment))),
          segments(columns / kSegment) {}
    // Of a token's: segment i of four consecutive ones lies among the i-th of all.
    __device__ static int place(int segment) {
        const int turn = segment % 2 + segment / 2 % 2 * 4;
        return segment / 32 * 32 + segment % 4 * 8 + (segment / 4 % 8 ^ turn);
    }
};

// Eight inputs; four neighbouring lanes have those that share a scale. Inputs below 2^-100 count as 0.
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
    const int place = token * to.segments + Inputs::place(eight / 2);
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
    int piece;   // of a step: a multiple of kColumnStep
    int staged;  // inputs at a time, a multiple of `piece`
    int lanes;   // to a row: a power of two from 4 on, all 32 where rows are long
    int rows;    // of a warp at a time: kRows to each group of lanes
    int stride;  // bytes of a row in its stage

    __host__ __device__ int stage_bytes() const { return rows * stride; }
    // Of a warp; what is read beyond the last row is there.
    __host__ __device__ int warp_bytes() const { return kStages * stage_bytes() + 16; }
    // Whether the inputs from the column `at` on are to be staged before the step there is computed.
    __device__ bool stages(int round, int at) const { return staged >= all ? round == 0 && at == 0 : at % staged == 0; }
    // Segment of the staged ones that starts there.
    __device__ int segment(int at) const { return (staged >= all ? at : at % staged) / kSegment; }
    // First row of the lane's group, in the step's.
    __device__ int lane_row() const {
        const int lane = threadIdx.x % kWarp;
        return lanes == kWarp ? 0 : lane / lanes * kRows;
    }
};

// A piece of some of a matrix's rows. Those beyond the last one that is there are not looked at; what lies in their
// place in shared memory is multiplied in vain.
struct Slice {
    const unsigned char* data;  // of the first row
    int row_bytes;
    int rows;   // that are there; 0: nothing to do
    int bytes;  // of a row
    int columns;
};

// Of rows from `first_row` on the columns from `at` on, as far as they are there.
__device__ inline Slice slice_of(const DeviceMatrix& w, int64_t first_row, int at, const Columns& columns) {
    Slice slice = {};
    if (first_row >= w.rows || at >= w.cols) return slice;
    slice.data = w.data + first_row * w.row_bytes;
    slice.row_bytes = static_cast<int>(w.row_bytes);
    slice.rows = static_cast<int>(min(w.rows - first_row, int64_t{columns.rows}));
    slice.bytes = slice.row_bytes;
    slice.columns = static_cast<int>(w.cols);
    if (columns.piece < slice.columns) {
        const int step_bytes = slice.bytes * kColumnStep / slice.columns;
        const int before = step_bytes * (at / kColumnStep);
        slice.data += before;
        slice.bytes = min(slice.bytes - before, step_bytes * (columns.piece / kColumnStep));
        slice.columns = min(slice.columns - at, columns.piece);
    }
    return slice;
}

// Rows come in whole steps of 16 bytes, with what shares the first and the last one (buffers are whole steps too): they
// lie as far from a multiple of 16 as in the matrix.
__device__ inline void fetch(const Slice& slice, unsigned char* stage, const Columns& columns) {
    const int first = threadIdx.x % kWarp * 16;
    const unsigned char* row = slice.data;
    for (int r = 0; r < slice.rows; ++r) {
        const int past = static_cast<int>(reinterpret_cast<uintptr_t>(row) % 16);
        const unsigned char* from = row - past + first;
        unsigned char* to = stage + first;
#pragma unroll 1
        for (int left = past + slice.bytes - first; left > 0; left -= kWarp * 16) {
            copy_16(to, from);
            from += kWarp * 16;
            to += kWarp * 16;
        }
        row += slice.row_bytes;
        stage += columns.stride;
    }
}

// Four words of codes with four of inputs.
__device__ inline int dot(const uint32_t (&codes)[4], const uint4& x, int sum) {
    sum = __dp4a(static_cast<int>(codes[0]), static_cast<int>(x.x), sum);
    sum = __dp4a(static_cast<int>(codes[1]), static_cast<int>(x.y), sum);
    sum = __dp4a(static_cast<int>(codes[2]), static_cast<int>(x.z), sum);
    return __dp4a(static_cast<int>(codes[3]), static_cast<int>(x.w), sum);
}

// sums[row][token] += the lane's share of `count` rows, the lane's group's from number `first_row` on.
template <WeightType type, int first_row, int count, int tokens>
__device__ inline void add_rows(const Slice& slice, const unsigned char* stage, const Columns& columns, const Inputs& x,
                                int first_segment, float (&sums)[kRows][tokens]) {
    using Weights = Int8Weights<type>;
    int first = static_cast<int>(threadIdx.x) & (columns.lanes - 1);
    asm volatile("" : "+r"(first)::"memory");  // or addresses of all types would be kept ready, and leave no registers
    const unsigned char* rows[count];
#pragma unroll
    for (int r = 0; r < count; ++r) {
        const int row = columns.lane_row() + first_row + r;
        const unsigned at = static_cast<unsigned>(reinterpret_cast<uintptr_t>(slice.data)) + row * slice.row_bytes;
        rows[r] = stage + row * columns.stride + at % 16;
    }
#pragma unroll 1
    for (int unit = first; unit < slice.columns / Weights::kUnit; unit += columns.lanes) {
        typename Weights::Unit w[count];
#pragma unroll
        for (int r = 0; r < count; ++r) Weights::load(rows[r], unit, w[r]);
#pragma unroll
        for (int t = 0; t < tokens; ++t) {
            int high[count] = {}, low[count] = {};
            int sum = 0;
#pragma unroll
            for (int i = 0; i < Weights::kUnit / kSegment; ++i) {
                const int place = t * x.segments + first_segment + Inputs::place(Weights::segment(unit, i));
                const uint4 x_high = x.high[place];
                const uint4 x_low = x.low[place];
                const Inputs::Scale scale = x.scales[place];
                sum += scale.sum;
#pragma unroll
                for (int r = 0; r < count; ++r) {
                    uint32_t codes[4];
                    Weights::codes(w[r], unit, i, codes);
                    high[r] = dot(codes, x_high, high[r]);
                    low[r] = dot(codes, x_low, low[r]);
                }
                if ((i + 1) % Weights::kScaleSegments != 0) continue;
                const int of = i / Weights::kScaleSegments;
#pragma unroll
                for (int r = 0; r < count; ++r) {
                    float& total = sums[first_row + r][t];
                    const int whole = 256 * high[r] + low[r] - Weights::kZero * sum;
                    total = fmaf(w[r].scale[of], scale.scale * static_cast<float>(whole), total);
                    if constexpr (Weights::kHasOffset) {
                        total = fmaf(w[r].offset[of], scale.scale * static_cast<float>(sum), total);
                    }
                    high[r] = low[r] = 0;
                }
                sum = 0;
            }
        }
    }
}

// All of the lane's rows: together where units are small enough for the registers.
template <WeightType type, int tokens>
__device__ inline void add_dots(const Slice& slice, const unsigned char* stage, const Columns& columns, const Inputs& x,
                                int first_segment, float (&sums)[kRows][tokens]) {
    using Weights = Int8Weights<type>;
    constexpr bool kSmall =
        Weights::kUnit == 32 || (Weights::kScaleSegments == 2 && sizeof(typename Weights::Unit) < 56);
    if constexpr (kSmall) {
        add_rows<type, 0, kRows>(slice, stage, columns, x, first_segment, sums);
    } else {
        add_rows<type, 0, 1>(slice, stage, columns, x, first_segment, sums);
        add_rows<type, 1, 1>(slice, stage, columns, x, first_segment, sums);
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
__device__ inline float sum_of_row(float value, const Columns& columns) {
    for (int offset = columns.lanes / 2; offset > 0; offset /= 2) {
        value += __shfl_xor_sync(kAllLanes, value, offset);
    }
    return value;
}

// ---- steps ----

// A warp's steps: `rounds` groups of rows, of each all pieces, as many of both in all warps of a block.
//   locate(round, at)      the step's slice, columns from `at` on; asked for twice, one step ahead and to compute
//   prepare(round, at)     makes its inputs ready, while the slice is under way
//   use(round, at, slice, stage)   computes; not called where there is nothing to do
template <class Locate, class Prepare, class Use>
__device__ inline void run_steps(int rounds, unsigned char* stages, const Columns& columns, Locate&& locate,
                                 Prepare&& prepare, Use&& use) {
    int round = 0;
    int at = 0;
    int stage = 0;  // bytes
    fetch(locate(round, at), stages, columns);
    end_copies();
#pragma unroll 1
    while (round < rounds) {
        int next_round = round;
        int next_at = at + columns.piece;
        if (next_at >= columns.all) next_at = 0, ++next_round;
        const int next_stage = columns.stage_bytes() - stage;
        if (next_round < rounds) fetch(locate(next_round, next_at), stages + next_stage, columns);
        end_copies();
        prepare(round, at);
        wait_copies<kStages - 1>();
        __syncwarp();
        const Slice slice = locate(round, at);
        if (slice.rows > 0) use(round, at, slice, stages + stage);
        __syncwarp();
        round = next_round, at = next_at, stage = next_stage;
    }
}

// ---- shapes ----

inline constexpr int kBlocks = 3;              // of a multiprocessor, where its shared memory holds them
inline constexpr int kReservedOfBlock = 1024;  // of shared memory

// Pieces as large as leave room for kBlocks blocks, of which block_bytes(columns) tells what one takes; where a block
// is too large by itself, fewer rows to a warp. `inputs`: columns of a token that are staged at most, where that is a
// piece or more.
template <class BlockBytes>
Columns divide_columns(const SharedMemory& memory, std::span<const DeviceMatrix> matrices, int inputs,
                       BlockBytes&& block_bytes) {
    const int room = memory.of_multiprocessor / kBlocks - kReservedOfBlock;
    Columns columns = {};
    for (const DeviceMatrix& w : matrices) columns.all = std::max(columns.all, static_cast<int>(w.cols));
    for (columns.lanes = 4; columns.lanes < kWarp && columns.lanes * kLongestUnit < columns.all;) columns.lanes *= 2;
    columns.rows = kRows * (kWarp / columns.lanes);
    const int padded = ceil_div(columns.all, kColumnStep) * kColumnStep;
    for (const int most : {2048, 1024}) {
        columns.piece = std::min(most, padded);
        columns.staged = std::clamp(inputs / columns.piece, 1, ceil_div(padded, columns.piece)) * columns.piece;
        int64_t bytes = 0;
        for (const DeviceMatrix& w : matrices) {
            bytes = std::max(bytes, std::min(w.row_bytes, ceil_div(w.row_bytes * columns.piece, w.cols)));
        }
        columns.stride = static_cast<int>(ceil_div<int64_t>(bytes, 16) * 16 + 16);
        if (block_bytes(columns) <= room) break;
    }
    while (columns.lanes < kWarp && block_bytes(columns) > memory.of_block - kReservedOfBlock) {
        columns.lanes *= 2;
        columns.rows = kRows * (kWarp / columns.lanes);
    }
    return columns;
}

}  // namespace octavo::cuda::int8_rows
