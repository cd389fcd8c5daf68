// How blocks whose codes are nibbles under one scale become tiles: the older types of 32 columns, and those whose codes
// point into a table of levels or are 4-bit floats. Layouts as in kernels/reference/weight_decode*.cpp.
#pragma once

#include "kernels/cpu/isa/int8/k_quants.h"
#include "kernels/cpu/isa/simd_select.h"

namespace octavo::OCTAVO_ISA {

// 16 bytes of codes: 16 columns in the low nibbles, the next 16 in the high ones. `map` makes bytes of nibbles.
template <class Rows, class Map>
inline void put_nibbles(const RowBytes& codes, int first, Rows& out, Map&& map) {
#pragma GCC unroll 16
    for (int i = 0; i < 4; ++i) {
        out.codes(first + i, map(low_nibbles(codes.dword[i])));
        out.codes(first + 4 + i, map(high_nibbles(codes.dword[i])));
    }
}

struct Q4_0Tile {
    static constexpr int kStep = 32;
    static constexpr int kBytes = 18;
    static constexpr TileForm kForm = {.stretch = 32, .zero = 8, .minima = false};
    template <class Rows>
    static inline void unpack(const std::byte* rows, int64_t row_bytes, Rows& out) {
        out.scale(0, low_f16(load_rows(rows, row_bytes).dword[0]));
        put_nibbles(load_rows(rows + 2, row_bytes), 0, out, [](VecI x) { return x; });
    }
};

struct Q4_1Tile {
    static constexpr int kStep = 32;
    static constexpr int kBytes = 20;
    static constexpr TileForm kForm = {.stretch = 32, .zero = 0, .minima = true};
    template <class Rows>
    static inline void unpack(const std::byte* rows, int64_t row_bytes, Rows& out) {
        const VecI head = load_rows(rows, row_bytes).dword[0];
        out.scale(0, low_f16(head));
        out.minimum(0, sub(zero(), high_f16(head)));  // stored with the other sign
        put_nibbles(load_rows(rows + 4, row_bytes), 0, out, [](VecI x) { return x; });
    }
};

// Codes of five bits: `fifth` has those of 32 columns in each lane.
template <class Rows>
inline void put_five_bits(const RowBytes& codes, VecI fifth, Rows& out) {
#pragma GCC unroll 16
    for (int i = 0; i < 4; ++i) {
        out.codes(i, bit_or(low_nibbles(codes.dword[i]), shift_left<4>(four_bits_to_bytes(fifth))));
        out.codes(4 + i,
                  bit_or(high_nibbles(codes.dword[i]), shift_left<4>(four_bits_to_bytes(shift_right<16>(fifth)))));
        fifth = shift_right<4>(fifth);
    }
}

struct Q5_0Tile {
    static constexpr int kStep = 32;
    static constexpr int kBytes = 22;
    static constexpr TileForm kForm = {.stretch = 32, .zero = 16, .minima = false};
    template <class Rows>
    static inline void unpack(const std::byte* rows, int64_t row_bytes, Rows& out) {
        const RowBytes head = load_rows(rows, row_bytes);
        out.scale(0, low_f16(head.dword[0]));
        const VecI fifth = bit_or(shift_right<16>(head.dword[0]), shift_left<16>(head.dword[1]));
        put_five_bits(load_rows(rows + 6, row_bytes), fifth, out);
    }
};

struct Q5_1Tile {
    static constexpr int kStep = 32;
    static constexpr int kBytes = 24;
    static constexpr TileForm kForm = {.stretch = 32, .zero = 0, .minima = true};
    template <class Rows>
    static inline void unpack(const std::byte* rows, int64_t row_bytes, Rows& out) {
        const RowBytes head = load_rows(rows, row_bytes);
        out.scale(0, low_f16(head.dword[0]));
        out.minimum(0, sub(zero(), high_f16(head.dword[0])));
        put_five_bits(load_rows(rows + 8, row_bytes), head.dword[1], out);
    }
};

// IQ4 levels, 128 above the stored ones.
inline VecI iq4_levels(VecI codes) {
    static constexpr uint8_t kLevels[16] = {1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241};
    return lookup(kLevels, codes);
}

struct Iq4NlTile {
    static constexpr int kStep = 32;
    static constexpr int kBytes = 18;
    static constexpr TileForm kForm = {.stretch = 32, .zero = 128, .minima = false, .wide = true};
    template <class Rows>
    static inline void unpack(const std::byte* rows, int64_t row_bytes, Rows& out) {
        out.scale(0, low_f16(load_rows(rows, row_bytes).dword[0]));
        put_nibbles(load_rows(rows + 2, row_bytes), 0, out, iq4_levels);
    }
};

struct Iq4XsTile {
    static constexpr int kStep = 256;
    static constexpr int kBytes = 136;
    static constexpr TileForm kForm = {.stretch = 32, .zero = 128, .minima = false, .wide = true};
    template <class Rows>
    static inline void unpack(const std::byte* rows, int64_t row_bytes, Rows& out) {
        const RowBytes head = load_rows(rows, row_bytes);
        const VecF scale = low_f16(head.dword[0]);
        VecI upper = shift_right<16>(head.dword[0]);  // two bits for each 32 columns
        VecI lower = head.dword[1];                   // four bits
#pragma GCC unroll 16
        for (int i = 0; i < 8; ++i) {
            const VecI factor = bit_or(bit_and(lower, set1_int(15)), shift_left<4>(bit_and(upper, set1_int(3))));
            out.scale(i, mul(scale, sub(to_float(factor), set1(32))));
            upper = shift_right<2>(upper);
            lower = shift_right<4>(lower);
            put_nibbles(load_rows(rows + 8 + 16 * i, row_bytes), 8 * i, out, iq4_levels);
        }
    }
};

// Twice E2M1 numbers, 12 above.
inline VecI e2m1_levels(VecI codes) {
    static constexpr uint8_t kLevels[16] = {12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0};
    return lookup(kLevels, codes);
}

struct Mxfp4Tile {
    static constexpr int kStep = 32;
    static constexpr int kBytes = 17;
    static constexpr TileForm kForm = {.stretch = 32, .zero = 12, .minima = false};
    template <class Rows>
    static inline void unpack(const std::byte* rows, int64_t row_bytes, Rows& out) {
        const VecF exponent = byte_value<0>(load_rows(rows, row_bytes).dword[0]);
        out.scale(0, scale_by_power(set1(1), sub(exponent, set1(128))));  // half, for levels are twice
        put_nibbles(load_rows(rows + 1, row_bytes), 0, out, e2m1_levels);
    }
};

// Half of the E4M3 number in byte `index` of each lane.
template <int index>
inline VecF half_e4m3(VecI x) {
    const VecI byte = shift_right<8 * index>(x);
    const VecI magnitude = bit_and(byte, set1_int(0x7f));
    const VecI sign = shift_left<24>(bit_and(byte, set1_int(0x80)));
    // Its bits at a float32's place are the number divided by 2^120, subnormal or not.
    const VecF value = mul(bits_to_float(bit_or(sign, shift_left<20>(magnitude))), set1(0x1p119f));
    return select_eq(to_float(magnitude), set1(0x7f), set1(__builtin_nanf("")), value);
}

struct Nvfp4Tile {
    static constexpr int kStep = 64;
    static constexpr int kBytes = 36;
    static constexpr TileForm kForm = {.stretch = 16, .zero = 12, .minima = false};
    template <class Rows>
    static inline void unpack(const std::byte* rows, int64_t row_bytes, Rows& out) {
        const VecI scales = load_rows(rows, row_bytes).dword[0];
        out.scale(0, half_e4m3<0>(scales));
        out.scale(1, half_e4m3<1>(scales));
        out.scale(2, half_e4m3<2>(scales));
        out.scale(3, half_e4m3<3>(scales));
#pragma GCC unroll 16
        for (int i = 0; i < 2; ++i) {  // of 16 columns, 8 in low nibbles, then 8 in high ones
            const RowBytes codes = load_rows(rows + 4 + 16 * i, row_bytes);
#pragma GCC unroll 16
            for (int pair = 0; pair < 2; ++pair) {
                const VecI a = codes.dword[2 * pair];
                const VecI b = codes.dword[2 * pair + 1];
                const int first = 8 * i + 4 * pair;
                out.codes(first, e2m1_levels(low_nibbles(a)));
                out.codes(first + 1, e2m1_levels(low_nibbles(b)));
                out.codes(first + 2, e2m1_levels(high_nibbles(a)));
                out.codes(first + 3, e2m1_levels(high_nibbles(b)));
            }
        }
    }
};

// NVFP4 as safetensors have it: four E4M3 scales in another array, and even columns in the low nibbles.
struct Nvfp4ApartTile {
    static constexpr int kStep = kNvfp4ApartStep;
    static constexpr int kBytes = 32;
    static constexpr int kScaleBytes = 4;
    static constexpr TileForm kForm = {.stretch = 16, .zero = 12, .minima = false};
    template <class Rows>
    static inline void unpack(const std::byte* rows, int64_t row_bytes, const std::byte* scale_rows,
                              int64_t scale_row_bytes, Rows& out) {
        int32_t four_scales[kLanes];
        for (int r = 0; r < kLanes; ++r) __builtin_memcpy(&four_scales[r], scale_rows + r * scale_row_bytes, 4);
        const VecI scales = load_int(four_scales);
        out.scale(0, half_e4m3<0>(scales));
        out.scale(1, half_e4m3<1>(scales));
        out.scale(2, half_e4m3<2>(scales));
        out.scale(3, half_e4m3<3>(scales));
#pragma GCC unroll 16
        for (int i = 0; i < 2; ++i) {
            const RowBytes codes = load_rows(rows + 16 * i, row_bytes);
#pragma GCC unroll 16
            for (int j = 0; j < 4; ++j) {
                out.codes(8 * i + 2 * j, e2m1_levels(low_nibbles(two_bytes_to_nibbles(codes.dword[j]))));
                out.codes(8 * i + 2 * j + 1,
                          e2m1_levels(low_nibbles(two_bytes_to_nibbles(shift_right<16>(codes.dword[j])))));
            }
        }
    }

  private:
    // Nibbles of the two lowest bytes of each lane, from the lowest on, in the low halves of its bytes.
    static VecI two_bytes_to_nibbles(VecI x) {
        const VecI apart = bit_or(bit_and(x, set1_int(0xff)), shift_left<8>(bit_and(x, set1_int(0xff00))));
        return bit_or(apart, shift_left<4>(apart));
    }
};

}  // namespace octavo::OCTAVO_ISA
