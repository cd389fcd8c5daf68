// The long middle of a sequence: tiles of packed cells that are all attended, and all read from the bulk. What a tile
// needs is under way while the one before is worked on: its keys since the scores of the tile before were known, its
// values since its own keys were taken up.
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
    KeyRow<f, false> rows[2][2];  // [half][g, g + 8]

    __device__ void load(const BulkRows& k, int64_t tile) {
        const int lane = threadIdx.x % kWarp;
        const int t = lane % 4;
        const int64_t cell = tile * kTileCells + lane / 4;
        const uint8_t* payload = k.payload + cell * k.payload_step;
        const f16_bits* scales = k.scales + cell * k.scale_step;
#pragma unroll
        for (int half = 0; half < 2; ++half) {
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                const int next = 16 * half + 8 * i;
                KeyRow<f, false>& row = rows[half][i];
                row.load(payload + next * k.payload_step, t);
#pragma unroll
                for (int part = 0; part < 2; ++part) {
                    const f16_bits scale = __ldg(scales + next * k.scale_step + t + 4 * part);
                    row.scale[part] = __half2half2(__ushort_as_half(scale));
                }
            }
        }
    }
    // What load began is there to be used; for keys that wait elsewhere than in registers.
    __device__ void arrive() {}

    __device__ void scores(const uint32_t (&q)[8][4], const Tables& tables, float (&s)[2][4]) const {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            float parts[2][4] = {};  // two chains of sums, half as long
#pragma unroll
            for (int unit = 0; unit < 8; ++unit) {
                uint32_t low[4], high[4];
                unpack_cell<f>(rows[half][0].words[unit / 4], unit % 4, rows[half][0].scale[unit / 4], tables, low);
                unpack_cell<f>(rows[half][1].words[unit / 4], unit % 4, rows[half][1].scale[unit / 4], tables, high);
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
    uint4 codes[4];  // 16 bytes at lane + 32 i of a group's 2 KiB
    uint4 scales;
    ChannelStage* stage;  // the warp's own

    __device__ void load(const BulkRows& k, int64_t tile) {
        const int lane = threadIdx.x % kWarp;
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
    uint32_t words[2][4][words_of_32(f)];  // [half][cell]
    f16_bits scales[2][4];

    __device__ void load(const BulkRows& v, int64_t tile) {
        const int lane = threadIdx.x % kWarp;
        const int g = lane / 4;
        const int64_t cell = tile * kTileCells + 2 * (lane % 4);
        const uint8_t* payload = v.payload + cell * v.payload_step;
        const f16_bits* from = v.scales + cell * v.scale_step + g;
#pragma unroll
        for (int half = 0; half < 2; ++half) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const int next = 16 * half + i % 2 + i / 2 * 8;
                load_block<f>(payload + next * v.payload_step, g, words[half][i]);
                scales[half][i] = __ldg(from + next * v.scale_step);
            }
        }
    }
    __device__ void add(const uint32_t (&p)[2][2], const Tables& tables, float (&o)[16][4]) const {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            __half scale[4];
#pragma unroll
            for (int i = 0; i < 4; ++i) scale[i] = __ushort_as_half(scales[half][i]);
            const __half2 near = __halves2half2(scale[0], scale[1]);
            const __half2 far = __halves2half2(scale[2], scale[3]);
#pragma unroll
            for (int unit = 0; unit < 4; ++unit) {
                uint32_t a[8], b[8];
                unpack_cells<f>(words[half][0], words[half][1], unit, near, tables, a);
                unpack_cells<f>(words[half][2], words[half][3], unit, far, tables, b);
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    const uint32_t fragment[4] = {a[2 * i], a[2 * i + 1], b[2 * i], b[2 * i + 1]};
                    mma_f16(o[unit * 4 + i], fragment, p[half][0], p[half][1]);
                }
            }
        }
    }
};

// Tiles first, first + step, ... below `end`.
template <KvFormat kf, KvFormat vf>
__device__ inline void attend_stream(const Source& k, const Source& v, int64_t first, int64_t end, int step,
                                     ChannelStage* stage, const Tables& tables, WarpState& state) {
    if (first >= end) return;
    const BulkRows k_rows(k);
    const BulkRows v_rows(v);
    StreamedKeys<kf> keys;
    if constexpr (kf == KvFormat::q2c) keys.stage = stage;
    // Keys of more words would take too many registers while they wait.
    constexpr bool kAhead = kf == KvFormat::q2c || words_of_32(kf) <= 4;
    if (kAhead) keys.load(k_rows, first);
    for (int64_t tile = first; tile < end; tile += step) {
        StreamedValues<vf> values;
        if (!kAhead) keys.load(k_rows, tile);
        keys.arrive();
        values.load(v_rows, tile);
        float s[2][4];
        keys.scores(state.q, tables, s);
        if (kAhead && tile + step < end) keys.load(k_rows, tile + step);
        uint32_t p[2][2];
        weigh(s, false, state, p);
        values.add(p, tables, state.o);
    }
}

}  // namespace octavo::cuda
