// The long middle of a sequence: packed cells that are all attended, and all read from the bulk. What a step needs is
// under way while the one before is worked on: its keys since the scores of that were known, its values since its own
// keys were taken up. A step is 32 cells where these need few registers, else 16.
#pragma once

#include "kernels/cuda/attention_tile.cuh"

namespace octavo::cuda {

// Formats that are streamed: blocks of 32 values in at most 8 words, and for keys two bits per channel.
constexpr bool streams_rows(KvFormat f) { return f == KvFormat::q8_0 || f == KvFormat::q6_0 || f == KvFormat::q4_0; }
constexpr bool streams(KvFormat kf, KvFormat vf) {
    return (streams_rows(kf) || kf == KvFormat::q2c) && streams_rows(vf);
}

// The bulk of one KV head.
struct BulkRows {
    const uint8_t* payload;
    const f16_bits* scales;
    int64_t payload_step;  // from one cell (or group) to the next
    int64_t scale_step;

    __device__ explicit BulkRows(const Source& from)
        : payload(from.side.payload + from.head * from.side.payload_bytes),
          scales(from.side.scales + int64_t{from.head} * from.side.scale_count),
          payload_step(from.cache.kv_heads * from.side.payload_bytes),
          scale_step(int64_t{from.cache.kv_heads} * from.side.scale_count) {}
};

// ---- keys of row formats: in registers ----

template <KvFormat f>
struct StreamedKeys {
    static constexpr int kHalves = words_of_32(f) <= 4 ? 2 : 1;  // of 16 cells, in a step
    KeyRow<f, false> rows[kHalves][2];                           // of cells g and g + 8

    __device__ void load(const BulkRows& k, int64_t first_cell) {
        const int lane = threadIdx.x % kWarp;
        const int t = lane % 4;
        const int64_t cell = first_cell + lane / 4;
#pragma unroll
        for (int i = 0; i < 2 * kHalves; ++i) {
            KeyRow<f, false>& row = rows[i / 2][i % 2];
            row.load(k.payload + (cell + 8 * i) * k.payload_step, t);
            const f16_bits* scales = k.scales + (cell + 8 * i) * k.scale_step + t;
#pragma unroll
            for (int part = 0; part < 2; ++part) {
                row.scale[part] = __half2half2(__ushort_as_half(__ldg(scales + 4 * part)));
            }
        }
    }
    // What `load` began is to be used now; for keys that wait elsewhere than in registers.
    __device__ void arrive() {}

    __device__ void scores(const uint32_t (&q)[8][4], const Tables& tables, float (&s)[kHalves][4]) const {
#pragma unroll
        for (int half = 0; half < kHalves; ++half) {
            const KeyRow<f, false>& a = rows[half][0];
            const KeyRow<f, false>& b = rows[half][1];
            float parts[2][4] = {};  // two chains of sums, half as long
#pragma unroll
            for (int unit = 0; unit < 8; ++unit) {
                uint32_t low[4], high[4];
                unpack_cell<f>(a.words[unit / 4], unit % 4, a.scale[unit / 4], tables, low);
                unpack_cell<f>(b.words[unit / 4], unit % 4, b.scale[unit / 4], tables, high);
#pragma unroll
                for (int step = 0; step < 2; ++step) {
                    const uint32_t fragment[4] = {low[2 * step], high[2 * step], low[2 * step + 1], high[2 * step + 1]};
                    mma_f16(parts[step], fragment, q[unit][2 * step], q[unit][2 * step + 1]);
                }
            }
#pragma unroll
            for (int i = 0; i < 4; ++i) s[half][i] = parts[0][i] + parts[1][i];
        }
    }
};

// ---- keys of two bits per channel: every lane needs a little of every channel, so they go through shared memory ----

// 32 channels of a group, with room that keeps the lanes' reads in different banks.
inline constexpr int kPieceWords = 32 * 2 + 4;
struct ChannelStage {
    uint32_t codes[8 * kPieceWords];
    uint32_t scales[8 * (16 + 4)];
};

template <>
struct StreamedKeys<KvFormat::q2c> {
    static constexpr int kHalves = 2;
    uint4 codes[4];  // 16 bytes at lane + 32 i of a group's 2 KiB
    uint4 scales;
    ChannelStage* stage;  // the warp's own

    __device__ void load(const BulkRows& k, int64_t first_cell) {
        const int lane = threadIdx.x % kWarp;
        const int64_t tile = first_cell / kTileCells;
        const auto* from = reinterpret_cast<const uint4*>(k.payload + tile * k.payload_step);
#pragma unroll
        for (int i = 0; i < 4; ++i) codes[i] = __ldg(from + lane + 32 * i);
        scales = __ldg(reinterpret_cast<const uint4*>(k.scales + tile * k.scale_step) + lane);
    }
    __device__ void arrive() {
        const int lane = threadIdx.x % kWarp;
        __syncwarp();  // the tile before has been read
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int at = lane + 32 * i;  // two channels; 16 of these a piece
            *reinterpret_cast<uint4*>(&stage->codes[at / 16 * kPieceWords + at % 16 * 4]) = codes[i];
        }
        *reinterpret_cast<uint4*>(&stage->scales[lane / 4 * 20 + lane % 4 * 4]) = scales;  // eight channels each
        __syncwarp();
    }
    __device__ void scores(const uint32_t (&q)[8][4], const Tables& tables, float (&s)[2][4]) const {
        const unsigned turn = 2 * (threadIdx.x % kWarp / 4) + 30;  // modulo 32: brings the code of cell g to bit 2
        const int t = threadIdx.x % 4;
        float parts[2][2][4] = {};  // [step][half]
#pragma unroll
        for (int unit = 0; unit < 8; ++unit) {
            const int piece = t + 4 * (unit / 4);
            const uint4 four = *reinterpret_cast<const uint4*>(&stage->scales[piece * 20 + unit % 4 * 4]);
            const uint32_t scale[4] = {four.x, four.y, four.z, four.w};
            uint32_t fragment[2][2][4];  // [step][half]
#pragma unroll
            for (int pair = 0; pair < 4; ++pair) {
                const int channels = unit % 4 * 4 + pair;
                const uint4 two = *reinterpret_cast<const uint4*>(&stage->codes[piece * kPieceWords + channels * 4]);
                const uint32_t first[2] = {two.x, two.y};
                const uint32_t second[2] = {two.z, two.w};
#pragma unroll
                for (int half = 0; half < 2; ++half) {
                    // Codes of cells g and g + 8, as four times their place in the table.
                    const uint32_t low = __funnelshift_r(first[half], first[half], turn) & 0x000c000cu;
                    const uint32_t high = __funnelshift_r(second[half], second[half], turn - 2) & 0x00300030u;
                    const uint32_t place = low | high;
                    fragment[pair / 2][half][pair % 2 * 2] = tables.at_byte(place & 0xffffu);
                    fragment[pair / 2][half][pair % 2 * 2 + 1] = tables.at_byte(place >> 16);
                }
            }
#pragma unroll
            for (int step = 0; step < 2; ++step) {
                const uint32_t a = half2_bits(__hmul2_rn(as_half2(q[unit][2 * step]), as_half2(scale[2 * step])));
                const uint32_t b =
                    half2_bits(__hmul2_rn(as_half2(q[unit][2 * step + 1]), as_half2(scale[2 * step + 1])));
#pragma unroll
                for (int half = 0; half < 2; ++half) mma_f16(parts[step][half], fragment[step][half], a, b);
            }
        }
#pragma unroll
        for (int half = 0; half < 2; ++half) {
#pragma unroll
            for (int i = 0; i < 4; ++i) s[half][i] = parts[0][half][i] + parts[1][half][i];
        }
    }
};

// ---- values ----

template <KvFormat f>
struct StreamedValues {
    uint32_t words[4][words_of_32(f)];  // of cells 2t, 2t + 1, 2t + 8, 2t + 9
    f16_bits scales[4];

    __device__ void load(const BulkRows& v, int64_t first_cell) {
        const int lane = threadIdx.x % kWarp;
        const int g = lane / 4;
        const int64_t cell = first_cell + 2 * (lane % 4);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int64_t at = cell + i % 2 + i / 2 * 8;
            load_block<f>(v.payload + at * v.payload_step, g, words[i]);
            scales[i] = __ldg(v.scales + at * v.scale_step + g);
        }
    }
    __device__ void add(const uint32_t (&p)[2], const Tables& tables, float (&o)[16][4]) const {
        __half scale[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) scale[i] = __ushort_as_half(scales[i]);
        const __half2 near = __halves2half2(scale[0], scale[1]);
        const __half2 far = __halves2half2(scale[2], scale[3]);
#pragma unroll
        for (int unit = 0; unit < 4; ++unit) {
            uint32_t a[8], b[8];
            unpack_cells<f>(words[0], words[1], unit, near, tables, a);
            unpack_cells<f>(words[2], words[3], unit, far, tables, b);
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const uint32_t fragment[4] = {a[2 * i], a[2 * i + 1], b[2 * i], b[2 * i + 1]};
                mma_f16(o[unit * 4 + i], fragment, p[0], p[1]);
            }
        }
    }
};

// Tiles first, first + step, ... below `end`.
template <KvFormat kf, KvFormat vf>
__device__ inline void attend_stream(const Source& k, const Source& v, int64_t first, int64_t end, int step,
                                     ChannelStage* stage, const Tables& tables, WarpState& state) {
    if (first >= end) return;
    using Keys = StreamedKeys<kf>;
    constexpr int kHalves = Keys::kHalves;
    const BulkRows k_rows(k);
    const BulkRows v_rows(v);
    const auto steps = static_cast<int>(ceil_div<int64_t>(end - first, step)) * (2 / kHalves);
    const auto cell_of = [&](int i) {
        if constexpr (kHalves == 2) return (first + int64_t{i} * step) * kTileCells;
        return (first + int64_t{i / 2} * step) * kTileCells + i % 2 * 16;
    };
    Keys keys;
    if constexpr (kf == KvFormat::q2c) keys.stage = stage;
    keys.load(k_rows, cell_of(0));
#pragma unroll 1
    for (int i = 0; i < steps; ++i) {
        StreamedValues<vf> values[kHalves];
        keys.arrive();
#pragma unroll
        for (int half = 0; half < kHalves; ++half) values[half].load(v_rows, cell_of(i) + 16 * half);
        float s[kHalves][4];
        keys.scores(state.q, tables, s);
        if (i + 1 < steps) keys.load(k_rows, cell_of(i + 1));
        uint32_t p[kHalves][2];
        weigh(s, false, state, p);
#pragma unroll
        for (int half = 0; half < kHalves; ++half) values[half].add(p[half], tables, state.o);
    }
}

}  // namespace octavo::cuda
