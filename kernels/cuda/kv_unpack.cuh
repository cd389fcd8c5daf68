// Cached rows of 256 values, unpacked eight at a time to FP16 (BF16 where the cache has it) with their scales.
//
// A pair is a register with two 16-bit numbers. Packed nibbles come out fastest as pairs (j, j + 4) of every eight
// values; `has_nibble_pairs` says which formats give them in that order.
#pragma once

#include "kernels/cuda/kv_layout.cuh"
#include "kernels/cuda/mma.cuh"

namespace octavo::cuda {

inline constexpr int kRowDim = 256;
// A kernel for every format: the format is looked at for every tile.
inline constexpr KvFormat kAnyFormat = static_cast<KvFormat>(255);

constexpr bool is_plain(KvFormat f) { return f == KvFormat::f16 || f == KvFormat::bf16; }
constexpr bool has_nibble_pairs(KvFormat f) { return f == KvFormat::q4_0 || f == KvFormat::q4r || f == KvFormat::q6_0; }
constexpr bool uses_tables(KvFormat f) { return f == kAnyFormat || f == KvFormat::q4_nl || f == KvFormat::q2t; }
// 32-bit words that 32 values take.
constexpr int words_of_32(KvFormat f) {
    switch (f) {
        case KvFormat::q8_0:
        case KvFormat::fp8_e4m3:
        case KvFormat::q8r: return 8;
        case KvFormat::q6_0:
        case KvFormat::q6r: return 6;
        case KvFormat::q4_0:
        case KvFormat::q4r:
        case KvFormat::q4_nl: return 4;
        case KvFormat::q2t: return 2;
        default: return 16;
    }
}

__device__ inline uint32_t half2_bits(__half2 pair) { return *reinterpret_cast<const uint32_t*>(&pair); }
__device__ inline __half2 as_half2(uint32_t bits) { return *reinterpret_cast<const __half2*>(&bits); }
// (magic + code) - zero, then the scale: exact but for the last rounding.
__device__ inline uint32_t scaled(uint32_t biased, float zero, __half2 scale) {
    return half2_bits(__hmul2_rn(__hsub2_rn(as_half2(biased), __float2half2_rn(zero)), scale));
}

// Levels of the codebooks, two at a time, in shared memory.
struct Tables {
    uint32_t two_bits[16];    // [code | next code << 2]
    uint32_t four_bits[256];  // [code | next code << 4]
};

// `bulk`: from memory that nothing writes while the kernel runs; else from anywhere.
template <bool bulk = true>
__device__ inline void load_16(const uint8_t* from, uint32_t* to) {
    const auto* at = reinterpret_cast<const uint4*>(from);
    const uint4 raw = bulk ? __ldg(at) : *at;
    to[0] = raw.x, to[1] = raw.y, to[2] = raw.z, to[3] = raw.w;
}
__device__ inline void load_8(const uint8_t* from, uint32_t* to) {
    const uint2 raw = __ldg(reinterpret_cast<const uint2*>(from));
    to[0] = raw.x, to[1] = raw.y;
}

// Block `block` of 32 values of a row.
template <KvFormat f, bool bulk = true>
__device__ inline void load_block(const uint8_t* row, int block, uint32_t* to) {
    if constexpr (is_plain(f)) {
#pragma unroll
        for (int i = 0; i < 4; ++i) load_16<bulk>(row + block * 64 + 16 * i, to + 4 * i);
    } else if constexpr (f == KvFormat::q6_0) {
        load_16(row + block * 16, to);
        load_8(row + kRowDim / 2 + block * 8, to + 4);
    } else if constexpr (f == KvFormat::q6r) {
#pragma unroll
        for (int i = 0; i < 3; ++i) load_8(row + block * 24 + 8 * i, to + 2 * i);
    } else if constexpr (f == KvFormat::q2t) {
        load_8(row + block * 8, to);
    } else {
        constexpr int kBytes = words_of_32(f) * 4;
#pragma unroll
        for (int i = 0; i < kBytes / 16; ++i) load_16(row + block * kBytes + 16 * i, to + 4 * i);
    }
}

// Codes of four and of six bits are put into the upper bits of a number's fraction, which then is 16 or 64 more than
// the code plus its bias; one fused step takes that away and applies the scale. What is taken away is a product of the
// scale and rounded: that moves a value by less than 1/40 of a code.
__device__ inline uint32_t without(uint32_t raised, float more, __half2 scale) {
    return half2_bits(__hfma2(as_half2(raised), scale, __hmul2_rn(scale, __float2half2_rn(-more))));
}
__device__ inline uint32_t shifted(uint32_t word, int left) { return left >= 0 ? word << left : word >> -left; }

// Nibbles j of both halves of a word, as four-bit codes.
__device__ inline uint32_t four_bits(uint32_t word, int j, __half2 scale) {
    return without((shifted(word, 6 - 4 * j) & 0x03c003c0u) ^ 0x4e004e00u, 24.0f, scale);
}
// The same with two bits on top: bits 2j and 2j + 1 of both halves of `tops`, of which `j_tops` counts.
__device__ inline uint32_t six_bits(uint32_t word, int j, uint32_t tops, int j_tops, __half2 scale) {
    const uint32_t low = (shifted(word, 4 - 4 * j) & 0x00f000f0u) ^ 0x56005600u;
    return without((shifted(tops, 8 - 2 * j_tops) & 0x03000300u) ^ low, 96.0f, scale);
}
// Two high bits of eight values, those of (j, j + 4) at the same place in both halves.
__device__ inline uint32_t spread_tops(const uint32_t* words, int unit) {
    return __byte_perm(words[4 + unit / 2], 0, unit % 2 == 0 ? 0x4140 : 0x4342);
}
// Four 6-bit codes of q6r, from the 24 bits that hold them.
__device__ inline uint32_t packed_24(const uint32_t* words, int group) {
    const int word = 3 * group / 4;
    const int shift = 3 * group % 4 * 8;
    return __funnelshift_r(words[word], word + 1 < 6 ? words[word + 1] : 0, shift);
}

// Eight dimensions of one cell (unit 0..3 of a block) as four pairs, in the format's own order.
template <KvFormat f>
__device__ inline void unpack_cell(const uint32_t* words, int unit, __half2 scale, const Tables& tables,
                                   uint32_t (&out)[4]) {
    if constexpr (is_plain(f)) {
#pragma unroll
        for (int j = 0; j < 4; ++j) out[j] = words[4 * unit + j];
    } else if constexpr (f == KvFormat::q4_0 || f == KvFormat::q4r) {
#pragma unroll
        for (int j = 0; j < 4; ++j) out[j] = four_bits(words[unit], j, scale);
    } else if constexpr (f == KvFormat::q6_0) {
        const uint32_t tops = spread_tops(words, unit);
#pragma unroll
        for (int j = 0; j < 4; ++j) out[j] = six_bits(words[unit], j, tops, j, scale);
    } else if constexpr (f == KvFormat::q8_0 || f == KvFormat::q8r) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const uint32_t biased = words[2 * unit + j / 2] ^ 0x80808080u;
            out[j] = scaled(__byte_perm(biased, 0x64646464u, j % 2 == 0 ? 0x4140 : 0x4342), 1152.0f, scale);
        }
    } else if constexpr (f == KvFormat::fp8_e4m3) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const uint32_t high = __byte_perm(words[2 * unit + j / 2], 0, j % 2 == 0 ? 0x1404 : 0x3424);
            const uint32_t small = (high & 0x80008000u) | (high >> 1 & 0x3f803f80u);  // 2^-8 of the value
            out[j] = half2_bits(__hmul2_rn(__hmul2_rn(as_half2(small), __float2half2_rn(256.0f)), scale));
        }
    } else if constexpr (f == KvFormat::q6r) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const uint32_t four = packed_24(words, 2 * unit + j / 2) >> (j % 2 * 12);
            out[j] = scaled((four & 63u) | (four >> 6 & 63u) << 16 | 0x64006400u, 1056.0f, scale);
        }
    } else if constexpr (f == KvFormat::q4_nl) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            out[j] = half2_bits(__hmul2_rn(as_half2(tables.four_bits[words[unit] >> (8 * j) & 255u]), scale));
        }
    } else if constexpr (f == KvFormat::q2t) {
        const uint32_t codes = words[unit / 2] >> (16 * (unit % 2));
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            out[j] = half2_bits(__hmul2_rn(as_half2(tables.two_bits[codes >> (4 * j) & 15u]), scale));
        }
    }
}

// Two channels of q2c, from their words of 16 cells: cell i of both.
__device__ inline uint32_t channel_pair(uint32_t first, uint32_t second, int i, __half2 scales) {
    const uint32_t doubled = (2 * i >= 1 ? first >> (2 * i - 1) : first << 1) & 6u;
    const uint32_t other = __funnelshift_r(second, second, 2 * i + 32 - 9) & 0x600u;
    // Four nibbles say which bytes of the levels the pair consists of. FP16: -1.510, -0.4528, 0.4528, 1.510.
    const uint32_t levels = __byte_perm(0xb73fbe0au, 0x3e0a373fu, (doubled | other) * 17 + 0x1010u);
    return half2_bits(__hmul2_rn(as_half2(levels), scales));
}

// Pairs (j, j + 4) of eight numbers from pairs (2j, 2j + 1), and back.
__device__ inline void to_nibble_order(uint32_t (&p)[4]) {
    const uint32_t a = __byte_perm(p[0], p[2], 0x5410);
    const uint32_t b = __byte_perm(p[0], p[2], 0x7632);
    const uint32_t c = __byte_perm(p[1], p[3], 0x5410);
    const uint32_t d = __byte_perm(p[1], p[3], 0x7632);
    p[0] = a, p[1] = b, p[2] = c, p[3] = d;
}
__device__ inline void from_nibble_order(uint32_t (&p)[4]) {
    const uint32_t a = __byte_perm(p[0], p[1], 0x5410);
    const uint32_t b = __byte_perm(p[2], p[3], 0x5410);
    const uint32_t c = __byte_perm(p[0], p[1], 0x7632);
    const uint32_t d = __byte_perm(p[2], p[3], 0x7632);
    p[0] = a, p[1] = b, p[2] = c, p[3] = d;
}

// Calls run(std::integral_constant<KvFormat, f>) for the row formats that attention unpacks this way.
template <class Run>
__device__ inline void with_row_format(KvFormat format, Run&& run) {
    switch (format) {
        case KvFormat::f16:
        case KvFormat::bf16: return run(std::integral_constant<KvFormat, KvFormat::f16>());
        case KvFormat::q8_0:
        case KvFormat::q8r: return run(std::integral_constant<KvFormat, KvFormat::q8_0>());
        case KvFormat::fp8_e4m3: return run(std::integral_constant<KvFormat, KvFormat::fp8_e4m3>());
        case KvFormat::q6_0: return run(std::integral_constant<KvFormat, KvFormat::q6_0>());
        case KvFormat::q6r: return run(std::integral_constant<KvFormat, KvFormat::q6r>());
        case KvFormat::q4_0:
        case KvFormat::q4r: return run(std::integral_constant<KvFormat, KvFormat::q4_0>());
        case KvFormat::q4_nl: return run(std::integral_constant<KvFormat, KvFormat::q4_nl>());
        case KvFormat::q2t: return run(std::integral_constant<KvFormat, KvFormat::q2t>());
        default: return;
    }
}

}  // namespace octavo::cuda
