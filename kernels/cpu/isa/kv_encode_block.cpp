// Formats with a scale per 32 values of a row and codes that are whole numbers, or e4m3.
#include "kernels/cpu/isa/kv_encode.h"
#include "kernels/cpu/isa/kv_lanes.h"

namespace octavo::OCTAVO_ISA {
namespace {

// Scales and codes of two's complement numbers of Bits bits; a flag where a run cannot be encoded.
template <int Bits>
VecF encode_runs(LaneRuns& runs, bool refined) {
    constexpr float kLow = -(1 << (Bits - 1));
    constexpr float kHigh = -kLow - 1;
    const bool refine = refined && Bits < 8;
    VecF largest = zero();
    VecF extreme = zero();  // the first value of the largest magnitude
    VecF nothing = zero();  // stays 0 when all values are finite
    for (const auto& values : runs.x) {
        const VecF x = load(values);
        nothing = add(nothing, sub(x, x));
        extreme = select_ge(abs(extreme), abs(x), extreme, x);
        largest = max(largest, abs(x));
    }
    VecF d = refine ? div(extreme, set1(kLow)) : div(largest, set1(Bits == 4 ? -kLow : kHigh));
    VecF bad = add(misfits(d), select_eq(nothing, zero(), zero(), set1(1)));
    d = round_scale(d, runs.scale);
    for (int i = 0; i < kKvBlock; ++i) {
        store(runs.code[i], quantise(load(runs.x[i]), d, Bits == 8 ? -kHigh : kLow, kHigh));
    }
    if (!refine) return bad;

    VecF xq = zero();
    VecF qq = zero();
    for (int i = 0; i < kKvBlock; ++i) {
        const VecF q = load(runs.code[i]);
        xq = add(xq, mul(load(runs.x[i]), q));
        qq = add(qq, mul(q, q));
    }
    d = select_eq(qq, zero(), zero(), div(xq, qq));
    bad = add(bad, misfits(d));
    d = round_scale(d, runs.scale);
    for (auto& codes : runs.code) store(codes, select_eq(d, zero(), zero(), load(codes)));
    return bad;
}

// Encodes all blocks; write(block, lane, runs) is called for each of them after pack(runs).
template <int Bits, class Pack, class Write>
bool encode_blocks(const KvEncodeRows& op, Pack pack, Write write) {
    const int64_t blocks = op.rows * op.head_dim / kKvBlock;
    VecF bad = zero();
    LaneRuns runs;
    for (int64_t first = 0; first < blocks; first += kLanes) {
        const int count = blocks - first < kLanes ? static_cast<int>(blocks - first) : kLanes;
        load_runs(op.x + first * kKvBlock, count, runs);
        bad = add(bad, encode_runs<Bits>(runs, op.refined));
        pack(runs);
        for (int lane = 0; lane < count; ++lane) {
            op.scales[first + lane] = runs.scale[lane];
            write(first + lane, lane);
        }
    }
    return none_set(bad);
}

// Written so that the compiler turns a loop over it into vector code: nearest even, saturating at 448; not NaN.
inline uint8_t e4m3_code(float x) {
    uint32_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    const uint32_t sign = bits >> 24 & 0x80u;
    const uint32_t magnitude_bits = bits & 0x7fffffffu;
    float magnitude;
    __builtin_memcpy(&magnitude, &magnitude_bits, sizeof magnitude);
    // Below 2^-6 neighbours are 2^-9 apart: adding 2^23 leaves the rounded count of them in the low bits.
    const float counted = magnitude * 0x1p9f + 0x1p23f;
    uint32_t small;
    __builtin_memcpy(&small, &counted, sizeof small);
    const uint32_t rounded = (magnitude_bits + 0x7ffffu + (magnitude_bits >> 20 & 1u)) >> 20;
    const uint32_t normal = rounded - ((127u - 7u) << 3);
    const uint32_t code = magnitude_bits < 0x3c800000u ? small - 0x4b000000u : normal;
    return static_cast<uint8_t>(sign | (magnitude_bits >= 0x43e00000u ? 0x7eu : code));
}

}  // namespace

bool encode_q8_0(const KvEncodeRows& op) {
    LaneBytes<kKvBlock> out;
    return encode_blocks<8>(
        op,
        [&](const LaneRuns& runs) {
            for (int i = 0; i < kKvBlock; ++i) store_bytes(out.bytes[i], unsigned_code(code_at(runs, i), 256));
        },
        [&](int64_t block, int lane) { out.write(lane, op.payload + block * kKvBlock); });
}

bool encode_q4_0(const KvEncodeRows& op) {
    LaneBytes<16> out;
    return encode_blocks<4>(
        op, [&](const LaneRuns& runs) { pack_nibbles(runs, out); },
        [&](int64_t block, int lane) { out.write(lane, op.payload + block * 16); });
}

// A row is all low planes (head_dim / 2 bytes), then all high planes (head_dim / 4 bytes).
bool encode_q6_0(const KvEncodeRows& op) {
    LaneBytes<16> low;
    LaneBytes<8> high;
    const int64_t blocks_per_row = op.head_dim / kKvBlock;
    const auto pack = [&](LaneRuns& runs) {
        LaneRuns top;
        for (int i = 0; i < kKvBlock; ++i) {
            const VecF code = unsigned_code(code_at(runs, i), 64);
            VecF two = zero();
            for (int step = 16; step < 64; step += 16) {
                two = add(two, select_ge(code, set1(static_cast<float>(step)), set1(1), zero()));
            }
            store(top.code[i], two);
            store(runs.code[i], sub(code, mul(two, set1(16))));
        }
        pack_nibbles(runs, low);
        pack_pairs(top, high);
    };
    return encode_blocks<6>(op, pack, [&](int64_t block, int lane) {
        std::byte* const row = op.payload + block / blocks_per_row * op.head_dim * 3 / 4;
        const int64_t in_row = block % blocks_per_row;
        low.write(lane, row + in_row * 16);
        high.write(lane, row + op.head_dim / 2 + in_row * 8);
    });
}

bool encode_fp8_e4m3(const KvEncodeRows& op) {
    const int64_t blocks = op.rows * op.head_dim / kKvBlock;
    bool good = true;
    for (int64_t block = 0; block < blocks; ++block) {
        const float* const x = op.x + block * kKvBlock;
        VecF largest = zero();
        VecF nothing = zero();
        for (int i = 0; i < kKvBlock; i += kLanes) {
            largest = max(largest, abs(load(x + i)));
            nothing = add(nothing, sub(load(x + i), load(x + i)));
        }
        const VecF scale = set1(reduce_max(largest) / 448.0f);
        good = good && none_set(misfits(scale)) && none_set(select_eq(nothing, zero(), zero(), set1(1)));
        uint16_t bits[kLanes];
        const VecF rounded = round_scale(scale, bits);
        op.scales[block] = bits[0];
        float d[kLanes];
        store(d, rounded);
        uint8_t* const codes = reinterpret_cast<uint8_t*>(op.payload + block * kKvBlock);
        if (d[0] == 0) {
            for (int i = 0; i < kKvBlock; ++i) codes[i] = 0;
        } else {
            for (int i = 0; i < kKvBlock; ++i) codes[i] = e4m3_code(x[i] / d[0]);
        }
    }
    return good;
}

}  // namespace octavo::OCTAVO_ISA
