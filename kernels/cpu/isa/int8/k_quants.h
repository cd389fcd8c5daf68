// How blocks of the K types (256 columns) become tiles, one struct per type; layouts as in
// kernels/reference/weight_decode_k.cpp. Bytes of a row lie four to a lane, so a lane operation works on four columns.
// Loops are unrolled as a whole: then what is handed over with a constant index may stay in a register.
#pragma once

#include "kernels/cpu/isa/int8/tile.h"

namespace octavo::OCTAVO_ISA {

inline VecI low_nibbles(VecI x) { return bit_and(x, set1_int(0x0f0f0f0f)); }
inline VecI high_nibbles(VecI x) { return low_nibbles(shift_right<4>(x)); }
// The lowest two bits of each byte, moved up to make six-bit numbers of nibbles.
inline VecI low_pairs(VecI x) { return bit_and(x, set1_int(0x03030303)); }

// Calls put(index, number) for the four bytes of each lane of `x`, as indices `first` to `first + 3`.
template <class Put>
inline void for_each_byte(VecI x, int first, Put&& put) {
    put(first, byte_value<0>(x));
    put(first + 1, byte_value<1>(x));
    put(first + 2, byte_value<2>(x));
    put(first + 3, byte_value<3>(x));
}

// Q4_K and Q5_K: eight scales and eight minima of six bits in 12 bytes behind two factors.
template <class Rows>
inline void unpack_scales_and_minima(const RowBytes& head, Rows& out) {
    const VecF scale = low_f16(head.dword[0]);
    const VecF minimum = high_f16(head.dword[0]);
    const auto put_scale = [&](int i, VecF value) { out.scale(i, mul(scale, value)); };
    const auto put_minimum = [&](int i, VecF value) { out.minimum(i, mul(minimum, value)); };
    const VecI a = head.dword[1];
    const VecI b = head.dword[2];
    const VecI c = head.dword[3];
    for_each_byte(bit_and(a, set1_int(0x3f3f3f3f)), 0, put_scale);
    for_each_byte(bit_and(b, set1_int(0x3f3f3f3f)), 0, put_minimum);
    for_each_byte(bit_or(low_nibbles(c), shift_left<4>(low_pairs(shift_right<6>(a)))), 4, put_scale);
    for_each_byte(bit_or(high_nibbles(c), shift_left<4>(low_pairs(shift_right<6>(b)))), 4, put_minimum);
}

// 64 bytes of two-bit codes. Of each half block, 32 columns lie in each pair of bits.
template <class Rows>
inline void put_pairs(const std::byte* codes_of_rows, int64_t row_bytes, Rows& out) {
#pragma GCC unroll 16
    for (int part = 0; part < 4; ++part) {  // 16 columns of each quarter of a half block
        RowBytes codes = load_rows(codes_of_rows + 16 * part, row_bytes);
#pragma GCC unroll 16
        for (int quarter = 0; quarter < 4; ++quarter) {
#pragma GCC unroll 16
            for (int i = 0; i < 4; ++i) {
                out.codes(part / 2 * 32 + quarter * 8 + part % 2 * 4 + i, low_pairs(codes.dword[i]));
                codes.dword[i] = shift_right<2>(codes.dword[i]);
            }
        }
    }
}

struct Q2_KTile {
    static constexpr int kStep = 256;
    static constexpr int kBytes = 84;
    static constexpr TileForm kForm = {.stretch = 16, .zero = 0, .minima = true};
    template <class Rows>
    static inline void unpack(const std::byte* rows, int64_t row_bytes, Rows& out) {
        const RowBytes factors = load_rows(rows, row_bytes);  // scale in the low nibble, minimum in the high one
        const VecI last = load_rows(rows + kBytes - 16, row_bytes).dword[3];
        const VecF scale = low_f16(last);
        const VecF minimum = high_f16(last);
#pragma GCC unroll 16
        for (int i = 0; i < 4; ++i) {
            for_each_byte(low_nibbles(factors.dword[i]), 4 * i, [&](int at, VecF x) { out.scale(at, mul(scale, x)); });
            for_each_byte(high_nibbles(factors.dword[i]), 4 * i,
                          [&](int at, VecF x) { out.minimum(at, mul(minimum, x)); });
        }
        put_pairs(rows + 16, row_bytes, out);
    }
};

struct Q3_KTile {
    static constexpr int kStep = 256;
    static constexpr int kBytes = 110;
    static constexpr TileForm kForm = {.stretch = 16, .zero = 4, .minima = false};
    template <class Rows>
    static inline void unpack(const std::byte* rows, int64_t row_bytes, Rows& out) {
        const RowBytes factors = load_rows(rows + 92, row_bytes);  // 4 bytes of codes, then 12 of 16 six-bit scales
        const VecF scale = high_f16(load_rows(rows + kBytes - 16, row_bytes).dword[3]);
        const VecI a = factors.dword[1];
        const VecI b = factors.dword[2];
        const VecI upper = factors.dword[3];
        const auto put = [&](int at, VecF x) { out.scale(at, mul(scale, sub(x, set1(32)))); };
        for_each_byte(bit_or(low_nibbles(a), shift_left<4>(low_pairs(upper))), 0, put);
        for_each_byte(bit_or(low_nibbles(b), shift_left<4>(low_pairs(shift_right<2>(upper)))), 4, put);
        for_each_byte(bit_or(high_nibbles(a), shift_left<4>(low_pairs(shift_right<4>(upper)))), 8, put);
        for_each_byte(bit_or(high_nibbles(b), shift_left<4>(low_pairs(shift_right<6>(upper)))), 12, put);
#pragma GCC unroll 16
        for (int at = 0; at < 2; ++at) {                            // columns 16 * at and on of every 32
            RowBytes third = load_rows(rows + 16 * at, row_bytes);  // bit n for the nth 32 columns
#pragma GCC unroll 16
            for (int half = 0; half < 2; ++half) {
                RowBytes codes = load_rows(rows + 32 + 32 * half + 16 * at, row_bytes);
#pragma GCC unroll 16
                for (int quarter = 0; quarter < 4; ++quarter) {
#pragma GCC unroll 16
                    for (int i = 0; i < 4; ++i) {
                        const VecI high = shift_left<2>(bit_and(third.dword[i], set1_int(0x01010101)));
                        out.codes(half * 32 + quarter * 8 + at * 4 + i, bit_or(low_pairs(codes.dword[i]), high));
                        codes.dword[i] = shift_right<2>(codes.dword[i]);
                        third.dword[i] = shift_right<1>(third.dword[i]);
                    }
                }
            }
        }
    }
};

struct Q4_KTile {
    static constexpr int kStep = 256;
    static constexpr int kBytes = 144;
    static constexpr TileForm kForm = {.stretch = 32, .zero = 0, .minima = true};
    template <class Rows>
    static inline void unpack(const std::byte* rows, int64_t row_bytes, Rows& out) {
        unpack_scales_and_minima(load_rows(rows, row_bytes), out);
#pragma GCC unroll 16
        for (int chunk = 0; chunk < 4; ++chunk) {  // 32 columns in low nibbles, the next 32 in high ones
#pragma GCC unroll 16
            for (int half = 0; half < 2; ++half) {
                const RowBytes codes = load_rows(rows + 16 + 32 * chunk + 16 * half, row_bytes);
#pragma GCC unroll 16
                for (int i = 0; i < 4; ++i) {
                    out.codes(16 * chunk + 4 * half + i, low_nibbles(codes.dword[i]));
                    out.codes(16 * chunk + 8 + 4 * half + i, high_nibbles(codes.dword[i]));
                }
            }
        }
    }
};

struct Q5_KTile {
    static constexpr int kStep = 256;
    static constexpr int kBytes = 176;
    static constexpr TileForm kForm = {.stretch = 32, .zero = 0, .minima = true};
    template <class Rows>
    static inline void unpack(const std::byte* rows, int64_t row_bytes, Rows& out) {
        unpack_scales_and_minima(load_rows(rows, row_bytes), out);
#pragma GCC unroll 16
        for (int half = 0; half < 2; ++half) {
            RowBytes fifth = load_rows(rows + 16 + 16 * half, row_bytes);  // bit 2 c and 2 c + 1 for chunk c
#pragma GCC unroll 16
            for (int chunk = 0; chunk < 4; ++chunk) {
                const RowBytes codes = load_rows(rows + 48 + 32 * chunk + 16 * half, row_bytes);
#pragma GCC unroll 16
                for (int i = 0; i < 4; ++i) {
                    const VecI low = shift_left<4>(bit_and(fifth.dword[i], set1_int(0x01010101)));
                    const VecI high = shift_left<3>(bit_and(fifth.dword[i], set1_int(0x02020202)));
                    out.codes(16 * chunk + 4 * half + i, bit_or(low_nibbles(codes.dword[i]), low));
                    out.codes(16 * chunk + 8 + 4 * half + i, bit_or(high_nibbles(codes.dword[i]), high));
                    fifth.dword[i] = shift_right<2>(fifth.dword[i]);
                }
            }
        }
    }
};

struct Q6_KTile {
    static constexpr int kStep = 256;
    static constexpr int kBytes = 210;
    static constexpr TileForm kForm = {.stretch = 16, .zero = 32, .minima = false};
    template <class Rows>
    static inline void unpack(const std::byte* rows, int64_t row_bytes, Rows& out) {
#pragma GCC unroll 16
        for (int part = 0; part < 4; ++part) {  // 16 columns of each quarter of a half block
            const int half = part / 2;
            const int at = 16 * (part % 2);
            const RowBytes first = load_rows(rows + 64 * half + at, row_bytes);
            const RowBytes second = load_rows(rows + 64 * half + 32 + at, row_bytes);
            const RowBytes upper = load_rows(rows + 128 + 32 * half + at, row_bytes);
            const int to = 32 * half + at / 4;
#pragma GCC unroll 16
            for (int i = 0; i < 4; ++i) {
                const VecI bits = upper.dword[i];
                const VecI fifth_and_sixth = set1_int(0x30303030);
                out.codes(to + i, bit_or(low_nibbles(first.dword[i]), bit_and(shift_left<4>(bits), fifth_and_sixth)));
                out.codes(to + 8 + i,
                          bit_or(low_nibbles(second.dword[i]), bit_and(shift_left<2>(bits), fifth_and_sixth)));
                out.codes(to + 16 + i, bit_or(high_nibbles(first.dword[i]), bit_and(bits, fifth_and_sixth)));
                out.codes(to + 24 + i,
                          bit_or(high_nibbles(second.dword[i]), bit_and(shift_right<2>(bits), fifth_and_sixth)));
            }
        }
        const RowBytes factors = load_rows(rows + 192, row_bytes);  // signed bytes
        const VecF scale = high_f16(load_rows(rows + kBytes - 16, row_bytes).dword[3]);
#pragma GCC unroll 16
        for (int i = 0; i < 4; ++i) {
            out.scale(4 * i, mul(scale, signed_byte_value<0>(factors.dword[i])));
            out.scale(4 * i + 1, mul(scale, signed_byte_value<1>(factors.dword[i])));
            out.scale(4 * i + 2, mul(scale, signed_byte_value<2>(factors.dword[i])));
            out.scale(4 * i + 3, mul(scale, signed_byte_value<3>(factors.dword[i])));
        }
    }
};

}  // namespace octavo::OCTAVO_ISA
