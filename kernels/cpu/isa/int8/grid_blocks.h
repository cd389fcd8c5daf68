// How blocks of the IQ1 to IQ3 types become tiles. Their codes point into tables of grid points
// (kernels/weight_codebooks.h), which lanes cannot look up: every row's block is first spelled out by scalar code, a
// byte for each column that says which level it has, and the bytes are turned into levels as those of other types are.
// Layouts as in kernels/reference/weight_decode_codebook.cpp.
#pragma once

#include "kernels/cpu/isa/int8/simd_int.h"
#include "kernels/cpu/isa/int8/tile.h"
#include "kernels/weight_codebooks.h"

namespace octavo::OCTAVO_ISA {

// One row's block, spelled out.
struct SpelledBlock {
    uint8_t levels[256];  // index of a column's level: a digit, 8 more where it is negative
    float scales[16];     // of each stretch
};

template <class Number>
inline Number read(const std::byte* p) {
    Number number;
    __builtin_memcpy(&number, p, sizeof number);
    return number;
}
inline float read_f16(const std::byte* p) {
    float lanes[kLanes];
    store(lanes, broadcast_f16(read<uint16_t>(p)));
    return lanes[0];
}
inline uint32_t nibble_at(const std::byte* packed, int index) {
    return read<uint8_t>(packed + index / 2) >> (index % 2 * 4) & 15u;
}

// Packed digits, one to a byte. The processor's own instruction for that (PDEP) is very slow on some.
struct Spread {
    uint64_t bits[256];
    uint64_t seven_bits[128];  // with an eighth that makes the number of ones even
    uint32_t pairs[256];
    uint16_t triples[64];
};
constexpr uint64_t spread_digits(uint64_t digits, int count, int width) {
    uint64_t bytes = 0;
    for (int i = 0; i < count; ++i) bytes |= (digits >> (width * i) & ((1u << width) - 1)) << (8 * i);
    return bytes;
}
constexpr Spread make_spread() {
    Spread spread = {};
    for (uint32_t i = 0; i < 256; ++i) {
        spread.bits[i] = spread_digits(i, 8, 1);
        spread.pairs[i] = static_cast<uint32_t>(spread_digits(i, 4, 2));
    }
    for (uint32_t i = 0; i < 128; ++i) {
        uint32_t ones = 0;
        for (int bit = 0; bit < 7; ++bit) ones += i >> bit & 1;
        spread.seven_bits[i] = spread.bits[i | (ones & 1) << 7];
    }
    for (uint32_t i = 0; i < 64; ++i) spread.triples[i] = static_cast<uint16_t>(spread_digits(i, 2, 3));
    return spread;
}
static constexpr Spread kSpread = make_spread();

// signs: a byte for each level, 1 where it is negative.
inline void put_eight(uint8_t* levels, uint32_t point, uint64_t signs) {
    const uint64_t digits = kSpread.pairs[point & 255] | uint64_t{kSpread.pairs[point >> 8]} << 32;
    const uint64_t bytes = digits | signs << 3;
    __builtin_memcpy(levels, &bytes, sizeof bytes);
}
inline void put_eight(uint8_t* levels, uint32_t point, uint32_t next_point, uint64_t signs) {
    const uint64_t digits = kSpread.triples[point & 63] | uint64_t{kSpread.triples[point >> 6]} << 16 |
                            uint64_t{kSpread.triples[next_point & 63]} << 32 |
                            uint64_t{kSpread.triples[next_point >> 6]} << 48;
    const uint64_t bytes = digits | signs << 3;
    __builtin_memcpy(levels, &bytes, sizeof bytes);
}

struct Iq2XxsBlock {
    static constexpr int kBytes = 66;
    static constexpr TileForm kForm = {.stretch = 32, .zero = 64, .minima = false};
    static constexpr uint8_t kLevels[16] = {72, 89, 107, 0, 0, 0, 0, 0, 56, 39, 21};  // 64 +- 8, 25, 43
    [[gnu::noinline]] static void spell(const std::byte* block, SpelledBlock& out) {
        const float quarter = read_f16(block) * 0.25f;
        for (int stretch = 0; stretch < 8; ++stretch) {
            const std::byte* codes = block + 2 + 8 * stretch;
            const uint32_t signs = read<uint32_t>(codes + 4);
            out.scales[stretch] = quarter * (0.5f + static_cast<float>(signs >> 28));
            for (int i = 0; i < 4; ++i) {
                const uint32_t point = kIq2XxsGrid[read<uint8_t>(codes + i)];
                put_eight(out.levels + 32 * stretch + 8 * i, point, kSpread.seven_bits[signs >> (7 * i) & 127]);
            }
        }
    }
};

struct Iq2XsBlock {
    static constexpr int kBytes = 74;
    static constexpr TileForm kForm = {.stretch = 16, .zero = 64, .minima = false};
    static constexpr const uint8_t (&kLevels)[16] = Iq2XxsBlock::kLevels;
    [[gnu::noinline]] static void spell(const std::byte* block, SpelledBlock& out) {
        const float quarter = read_f16(block) * 0.25f;
        for (int stretch = 0; stretch < 16; ++stretch) {
            out.scales[stretch] = quarter * (0.5f + static_cast<float>(nibble_at(block + 66, stretch)));
            for (int i = 2 * stretch; i < 2 * stretch + 2; ++i) {
                const uint32_t code = read<uint16_t>(block + 2 + 2 * i);
                put_eight(out.levels + 8 * i, kIq2XsGrid[code & 511], kSpread.seven_bits[code >> 9]);
            }
        }
    }
};

struct Iq2SBlock {
    static constexpr int kBytes = 82;
    static constexpr TileForm kForm = {.stretch = 16, .zero = 64, .minima = false};
    static constexpr const uint8_t (&kLevels)[16] = Iq2XxsBlock::kLevels;
    [[gnu::noinline]] static void spell(const std::byte* block, SpelledBlock& out) {
        const float quarter = read_f16(block) * 0.25f;
        for (int stretch = 0; stretch < 16; ++stretch) {
            out.scales[stretch] = quarter * (0.5f + static_cast<float>(nibble_at(block + 74, stretch)));
            for (int i = 2 * stretch; i < 2 * stretch + 2; ++i) {
                const uint32_t high = read<uint8_t>(block + 66 + i / 4) >> (i % 4 * 2) & 3u;
                put_eight(out.levels + 8 * i, kIq2SGrid[read<uint8_t>(block + 2 + i) | high << 8],
                          kSpread.bits[read<uint8_t>(block + 34 + i)]);
            }
        }
    }
};

struct Iq3XxsBlock {
    static constexpr int kBytes = 98;
    static constexpr TileForm kForm = {.stretch = 32, .zero = 64, .minima = false};
    static constexpr uint8_t kLevels[16] = {68, 76, 84, 92, 100, 108, 116, 126,  // 64 +- 4, 12, 20, 28, 36, 44, 52, 62
                                            60, 52, 44, 36, 28,  20,  12,  2};
    [[gnu::noinline]] static void spell(const std::byte* block, SpelledBlock& out) {
        const float half = read_f16(block) * 0.5f;
        for (int stretch = 0; stretch < 8; ++stretch) {
            const uint32_t signs = read<uint32_t>(block + 66 + 4 * stretch);
            out.scales[stretch] = half * (0.5f + static_cast<float>(signs >> 28));
            for (int i = 0; i < 4; ++i) {
                const std::byte* codes = block + 2 + 8 * stretch + 2 * i;
                put_eight(out.levels + 32 * stretch + 8 * i, kIq3XxsGrid[read<uint8_t>(codes)],
                          kIq3XxsGrid[read<uint8_t>(codes + 1)], kSpread.seven_bits[signs >> (7 * i) & 127]);
            }
        }
    }
};

struct Iq3SBlock {
    static constexpr int kBytes = 110;
    static constexpr TileForm kForm = {.stretch = 32, .zero = 16, .minima = false};
    static constexpr uint8_t kLevels[16] = {17, 19, 21, 23, 25, 27, 29, 31,  // 16 +- odd numbers
                                            15, 13, 11, 9,  7,  5,  3,  1};
    [[gnu::noinline]] static void spell(const std::byte* block, SpelledBlock& out) {
        const float scale = read_f16(block);
        for (int stretch = 0; stretch < 8; ++stretch) {
            out.scales[stretch] = scale * static_cast<float>(1 + 2 * nibble_at(block + 106, stretch));
            const uint32_t high = read<uint8_t>(block + 66 + stretch);
            for (int i = 0; i < 4; ++i) {
                const std::byte* codes = block + 2 + 8 * stretch + 2 * i;
                const uint32_t point = kIq3SGrid[read<uint8_t>(codes) | (high >> (2 * i) & 1) << 8];
                const uint32_t next = kIq3SGrid[read<uint8_t>(codes + 1) | (high >> (2 * i + 1) & 1) << 8];
                put_eight(out.levels + 32 * stretch + 8 * i, point, next,
                          kSpread.bits[read<uint8_t>(block + 74 + 4 * stretch + i)]);
            }
        }
    }
};

// Levels of IQ1 are eighths: 8 (digit - 1) + 1, or - 1 where the shift is negative.
struct Iq1SBlock {
    static constexpr int kBytes = 50;
    static constexpr TileForm kForm = {.stretch = 32, .zero = 16, .minima = false};
    static constexpr uint8_t kLevels[16] = {9, 17, 25, 0, 0, 0, 0, 0, 7, 15, 23};
    [[gnu::noinline]] static void spell(const std::byte* block, SpelledBlock& out) {
        const float eighth = read_f16(block) * 0.125f;
        for (int stretch = 0; stretch < 8; ++stretch) {
            const uint32_t group = read<uint16_t>(block + 34 + 2 * stretch);
            out.scales[stretch] = eighth * static_cast<float>(2 * (group >> 12 & 7) + 1);
            for (int i = 0; i < 4; ++i) {
                const uint32_t code = read<uint8_t>(block + 2 + 4 * stretch + i) | (group >> (3 * i) & 7) << 8;
                put_eight(out.levels + 32 * stretch + 8 * i, kIq1Grid[code], kSpread.bits[group >> 15 != 0 ? 255 : 0]);
            }
        }
    }
};

struct Iq1MBlock {
    static constexpr int kBytes = 56;
    static constexpr TileForm kForm = {.stretch = 16, .zero = 16, .minima = false};
    static constexpr const uint8_t (&kLevels)[16] = Iq1SBlock::kLevels;
    [[gnu::noinline]] static void spell(const std::byte* block, SpelledBlock& out) {
        std::byte scale[2];  // a nibble of it lies in each word of scales
        uint32_t bits = 0;
        for (int i = 0; i < 4; ++i) bits |= read<uint16_t>(block + 48 + 2 * i) >> 12 << (4 * i);
        const auto half = static_cast<uint16_t>(bits);
        __builtin_memcpy(scale, &half, sizeof half);
        const float eighth = read_f16(scale) * 0.125f;
        for (int stretch = 0; stretch < 16; ++stretch) {
            const uint32_t word = read<uint16_t>(block + 48 + stretch / 4 * 2);
            out.scales[stretch] = eighth * static_cast<float>(2 * (word >> (stretch % 4 * 3) & 7) + 1);
            for (int i = 2 * stretch; i < 2 * stretch + 2; ++i) {
                const uint32_t high = nibble_at(block + 32, i);
                const uint32_t code = read<uint8_t>(block + i) | (high & 7) << 8;
                put_eight(out.levels + 8 * i, kIq1Grid[code], kSpread.bits[high >= 8 ? 255 : 0]);
            }
        }
    }
};

template <class Block>
struct GridTile {
    static constexpr int kStep = 256;
    static constexpr int kBytes = Block::kBytes;
    static constexpr TileForm kForm = Block::kForm;
    template <class Rows>
    static inline void unpack(const std::byte* rows, int64_t row_bytes, Rows& out) {
        SpelledBlock spelled[kLanes];
        for (int r = 0; r < kLanes; ++r) Block::spell(rows + r * row_bytes, spelled[r]);
        for (int stretch = 0; stretch < kStep / kForm.stretch; ++stretch) {
            float scales[kLanes];
            for (int r = 0; r < kLanes; ++r) scales[r] = spelled[r].scales[stretch];
            out.scale(stretch, load(scales));
        }
        const auto* bytes = reinterpret_cast<const std::byte*>(spelled[0].levels);
        for (int i = 0; i < kStep / 16; ++i) {
            const RowBytes levels = load_rows(bytes + 16 * i, sizeof(SpelledBlock));
            for (int j = 0; j < 4; ++j) out.codes(4 * i + j, lookup(Block::kLevels, levels.dword[j]));
        }
    }
};

}  // namespace octavo::OCTAVO_ISA
