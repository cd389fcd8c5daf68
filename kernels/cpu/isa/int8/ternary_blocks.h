// How blocks of the types whose weights are -1, 0 and 1 times one scale, or -1 and 1, become tiles. Layouts as in
// kernels/reference/weight_decode_micro.cpp.
#pragma once

#include "kernels/cpu/isa/int8/grid_blocks.h"
#include "kernels/cpu/isa/int8/k_quants.h"

namespace octavo::OCTAVO_ISA {

// Bytes of five ternary digits, for which lanes lack a product: spelled out like those of grids.
struct Tq1_0Block {
    static constexpr int kBytes = 54;
    static constexpr TileForm kForm = {.stretch = 32, .zero = 1, .minima = false};
    static constexpr uint8_t kLevels[16] = {0, 1, 2};
    [[gnu::noinline]] static void spell(const std::byte* block, SpelledBlock& out) {
        const float scale = read_f16(block + 52);
        for (int stretch = 0; stretch < 8; ++stretch) out.scales[stretch] = scale;
        put<32, 5>(block, out.levels);
        put<16, 5>(block + 32, out.levels + 160);
        put<4, 4>(block + 48, out.levels + 240);
    }

  private:
    template <int bytes, int digits>
    static void put(const std::byte* packed, uint8_t* levels) {
        uint8_t rest[bytes];  // the fraction that is left, in 1/256
        __builtin_memcpy(rest, packed, bytes);
        for (int n = 0; n < digits; ++n) {
            for (int i = 0; i < bytes; ++i) {
                const int three = 3 * rest[i];
                levels[n * bytes + i] = static_cast<uint8_t>(three >> 8);
                rest[i] = static_cast<uint8_t>(three);
            }
        }
    }
};

struct Tq2_0Tile {
    static constexpr int kStep = 256;
    static constexpr int kBytes = 66;
    static constexpr TileForm kForm = {.stretch = 32, .zero = 1, .minima = false};
    template <class Rows>
    static inline void unpack(const std::byte* rows, int64_t row_bytes, Rows& out) {
        const VecF scale = high_f16(load_rows(rows + kBytes - 16, row_bytes).dword[3]);
#pragma GCC unroll 16
        for (int i = 0; i < 8; ++i) out.scale(i, scale);
        put_pairs(rows, row_bytes, out);
    }
};

// A bit for each column: codes 2 and 0.
struct Q1_0Tile {
    static constexpr int kStep = 128;
    static constexpr int kBytes = 18;
    static constexpr TileForm kForm = {.stretch = 32, .zero = 1, .minima = false};
    template <class Rows>
    static inline void unpack(const std::byte* rows, int64_t row_bytes, Rows& out) {
        const VecF scale = low_f16(load_rows(rows, row_bytes).dword[0]);
        const RowBytes bits = load_rows(rows + 2, row_bytes);
#pragma GCC unroll 16
        for (int stretch = 0; stretch < 4; ++stretch) {
            out.scale(stretch, scale);
            VecI left = bits.dword[stretch];
#pragma GCC unroll 16
            for (int i = 0; i < 8; ++i) {
                out.codes(8 * stretch + i, shift_left<1>(four_bits_to_bytes(left)));
                left = shift_right<4>(left);
            }
        }
    }
};

// Four columns in each byte.
struct Q2_0Tile {
    static constexpr int kStep = 64;
    static constexpr int kBytes = 18;
    static constexpr TileForm kForm = {.stretch = 32, .zero = 1, .minima = false};
    template <class Rows>
    static inline void unpack(const std::byte* rows, int64_t row_bytes, Rows& out) {
        const VecF scale = low_f16(load_rows(rows, row_bytes).dword[0]);
        out.scale(0, scale);
        out.scale(1, scale);
        const RowBytes codes = load_rows(rows + 2, row_bytes);
#pragma GCC unroll 16
        for (int i = 0; i < 4; ++i) {
            VecI left = codes.dword[i];
#pragma GCC unroll 16
            for (int j = 0; j < 4; ++j) {
                out.codes(4 * i + j, pairs_of_byte(left));
                left = shift_right<8>(left);
            }
        }
    }

  private:
    // The four pairs of bits in the lowest byte of each lane, one to a byte.
    static VecI pairs_of_byte(VecI x) {
        const VecI byte = bit_and(x, set1_int(0xff));
        const VecI spread =
            bit_or(bit_or(byte, shift_left<6>(byte)), bit_or(shift_left<12>(byte), shift_left<18>(byte)));
        return low_pairs(spread);
    }
};

}  // namespace octavo::OCTAVO_ISA
