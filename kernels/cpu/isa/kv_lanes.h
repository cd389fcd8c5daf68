// Encoding kLanes runs of 32 values side by side, a run a lane: every sum is then taken in index order, as the codecs
// that define the formats ask (kernels/kv_codec.h), and still in vectors.
#pragma once

#include "kernels/cpu/isa/simd_select.h"
#include "kernels/kv_codec.h"

namespace octavo::OCTAVO_ISA {

struct LaneRuns {
    float x[kKvBlock][kLanes];
    float code[kKvBlock][kLanes];  // whole numbers
    uint16_t scale[kLanes];
};

// Runs that lie one after another; lanes from `count` on become zeros.
inline void load_runs(const float* x, int count, LaneRuns& runs) {
    for (int i = 0; i < kKvBlock; ++i) {
        for (int lane = 0; lane < kLanes; ++lane) runs.x[i][lane] = lane < count ? x[lane * kKvBlock + i] : 0.0f;
    }
}

// 1 where the scale cannot be a float16, else 0.
inline VecF misfits(VecF scale) {
    constexpr float kLargest = 0x1.ffdffep15f;  // the last float32 that does not round to infinity
    return select_ge(set1(kLargest), abs(scale), zero(), set1(1));
}
inline bool none_set(VecF flags) { return reduce_max(flags) == 0; }

// The scale as float16 holds it, kept in `bits` too.
inline VecF round_scale(VecF scale, uint16_t* bits) {
    store_f16(bits, scale);
    return load_f16(bits);
}

// round-half-away(x / d) within [low, high]; d = 0 gives 0.
inline VecF quantise(VecF x, VecF d, float low, float high) {
    const VecF t = min(max(div(x, d), set1(low)), set1(high));
    const VecF magnitude = abs(t);
    const VecF even = round_nearest(magnitude);
    const VecF away = select_ge(sub(magnitude, even), set1(0.5f), add(even, set1(1)), even);
    return select_eq(d, zero(), zero(), select_ge(t, zero(), away, sub(zero(), away)));
}

// Packing: byte j of every lane's run goes to bytes[j].
template <int Bytes>
struct LaneBytes {
    uint8_t bytes[Bytes][kLanes];

    void write(int lane, std::byte* out) const {
        for (int j = 0; j < Bytes; ++j) out[j] = static_cast<std::byte>(bytes[j][lane]);
    }
};

inline VecF code_at(const LaneRuns& runs, int i) { return load(runs.code[i]); }
// The two's complement of `range` values: -1 becomes range - 1.
inline VecF unsigned_code(VecF code, float range) { return select_ge(code, zero(), code, add(code, set1(range))); }

// Two four-bit codes a byte, the first one low.
inline void pack_nibbles(const LaneRuns& runs, LaneBytes<16>& out) {
    for (int j = 0; j < 16; ++j) {
        const VecF low = unsigned_code(code_at(runs, 2 * j), 16);
        const VecF high = unsigned_code(code_at(runs, 2 * j + 1), 16);
        store_bytes(out.bytes[j], add(low, mul(high, set1(16))));
    }
}

// Four codes 0..3 a byte, the first one lowest.
inline void pack_pairs(const LaneRuns& runs, LaneBytes<8>& out) {
    for (int j = 0; j < 8; ++j) {
        VecF byte = zero();
        for (int i = 3; i >= 0; --i) byte = add(mul(byte, set1(4)), code_at(runs, 4 * j + i));
        store_bytes(out.bytes[j], byte);
    }
}

}  // namespace octavo::OCTAVO_ISA
