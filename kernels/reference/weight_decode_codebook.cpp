// IQ types: codes that point into tables of values (kernels/weight_codebooks.h). Offsets in bytes, scale d in f16,
// blocks of 256 values but for IQ4_NL. A pair of nibbles of scales is the lower half first.
//   IQ4_NL   18, 32 values: d, 16 bytes of codes (low halves first); value = d * level
//   IQ4_XS  136: d, 8 x 2 high bits of the scales, 8 x 4 low bits, 128 bytes of codes, 16 to 32 values;
//                value = d * (scale - 32) * level
//   IQ2_XXS  66: d, and for every 32 values 4 grid codes of 8 bits, then 4 x 7 signs and a 4-bit scale;
//                value = +-d * (scale + 1/2) / 4 * magnitude, as in the next two
//   IQ2_XS   74: d, 32 x (9-bit grid code, 7 signs), 16 x 4-bit scales, one to 16 values
//   IQ2_S    82: d, 32 x 8 low bits of grid codes, 32 x 8 signs, 32 x 2 high bits, 16 x 4-bit scales
//   IQ3_XXS  98: d, 64 grid codes of 8 bits, then for every 32 values 4 x 7 signs and a 4-bit scale;
//                value = +-d * (scale + 1/2) / 2 * magnitude
//   IQ3_S   110: d, 64 x 8 low bits of grid codes, 64 x 1 high bit, 32 x 8 signs, 8 x 4-bit scales;
//                value = +-d * (1 + 2 scale) * magnitude
//   IQ1_S    50: d, 32 x 8 low bits of grid codes, and for every 32 values 4 x 3 high bits, a 3-bit scale and the sign
//                of a shift of 1/8; value = d * (1 + 2 scale) * (digit - 1 +- 1/8)
//   IQ1_M    56: 32 x 8 low bits, 32 x (3 high bits, sign of the shift), and 4 x 16 bits: four 3-bit scales, one to 16
//                values, below 4 bits of d
#include "kernels/reference/weight_blocks.h"
#include "kernels/reference/weight_decode.h"
#include "kernels/weight_codebooks.h"

namespace octavo {
namespace {

constexpr int kValues = 256;

void decode_levels(const std::byte* codes, float scale, float* values) {
    for (int i = 0; i < 32; ++i) values[i] = scale * static_cast<float>(kIq4Levels[blocks::nibble(codes, i, 32)]);
}

uint32_t nibble_of(const std::byte* packed, int index) {
    return blocks::u8(packed + index / 2) >> (index % 2 * 4) & 15;
}

// Values of one grid point: `count` digits of `bits` bits through `magnitude`, with the sign bits given.
template <int count, int bits, class Magnitude>
void decode_point(uint32_t point, uint32_t signs, float scale, float* values, Magnitude&& magnitude) {
    for (int i = 0; i < count; ++i) {
        const auto value = static_cast<float>(magnitude(point >> (bits * i) & ((1u << bits) - 1)));
        values[i] = scale * value * ((signs >> i & 1) != 0 ? -1.0f : 1.0f);
    }
}

void decode_iq2_point(uint32_t point, uint32_t signs, float scale, float* values) {
    decode_point<8, 2>(point, signs, scale, values, [](uint32_t digit) { return kIq2Levels[digit]; });
}

float quarter_scale(float d, uint32_t scale) { return d * (0.5f + static_cast<float>(scale)) * 0.25f; }

void decode_iq1_point(uint32_t point, float shift, float scale, float* values) {
    for (int i = 0; i < 8; ++i) {
        const int digit = static_cast<int>(point >> (2 * i) & 3) - 1;
        values[i] = scale * (static_cast<float>(digit) + shift);
    }
}

}  // namespace

void decode_iq4_nl(const std::byte* data, int64_t count, float* values) {
    blocks::for_each<18, 32>(data, count, values,
                             [](const std::byte* block, float* v) { decode_levels(block + 2, blocks::f16(block), v); });
}

void decode_iq4_xs(const std::byte* data, int64_t count, float* values) {
    blocks::for_each<136, kValues>(data, count, values, [](const std::byte* block, float* v) {
        const float d = blocks::f16(block);
        const uint32_t high = blocks::u16(block + 2);
        for (int sub = 0; sub < 8; ++sub) {
            const uint32_t scale = nibble_of(block + 4, sub) | (high >> (sub * 2) & 3) << 4;
            decode_levels(block + 8 + sub * 16, d * static_cast<float>(static_cast<int>(scale) - 32), v + sub * 32);
        }
    });
}

void decode_iq2_xxs(const std::byte* data, int64_t count, float* values) {
    blocks::for_each<66, kValues>(data, count, values, [](const std::byte* block, float* v) {
        const float d = blocks::f16(block);
        for (int point = 0; point < 32; ++point) {
            const std::byte* group = block + 2 + point / 4 * 8;
            const uint32_t signs_and_scale = blocks::u32(group + 4);
            const uint32_t signs = iq_signs(signs_and_scale >> (point % 4 * 7) & 127);
            const uint32_t code = blocks::u8(group + point % 4);
            decode_iq2_point(kIq2XxsGrid[code], signs, quarter_scale(d, signs_and_scale >> 28), v + point * 8);
        }
    });
}

void decode_iq2_xs(const std::byte* data, int64_t count, float* values) {
    blocks::for_each<74, kValues>(data, count, values, [](const std::byte* block, float* v) {
        const float d = blocks::f16(block);
        for (int point = 0; point < 32; ++point) {
            const uint32_t code = blocks::u16(block + 2 + point * 2);
            const float scale = quarter_scale(d, nibble_of(block + 66, point / 2));
            decode_iq2_point(kIq2XsGrid[code & 511], iq_signs(code >> 9), scale, v + point * 8);
        }
    });
}

void decode_iq2_s(const std::byte* data, int64_t count, float* values) {
    blocks::for_each<82, kValues>(data, count, values, [](const std::byte* block, float* v) {
        const float d = blocks::f16(block);
        for (int point = 0; point < 32; ++point) {
            const uint32_t high = blocks::u8(block + 66 + point / 4) >> (point % 4 * 2) & 3;
            const uint32_t code = blocks::u8(block + 2 + point) | high << 8;
            const float scale = quarter_scale(d, nibble_of(block + 74, point / 2));
            decode_iq2_point(kIq2SGrid[code], blocks::u8(block + 34 + point), scale, v + point * 8);
        }
    });
}

void decode_iq3_xxs(const std::byte* data, int64_t count, float* values) {
    blocks::for_each<98, kValues>(data, count, values, [](const std::byte* block, float* v) {
        const float d = blocks::f16(block);
        for (int point = 0; point < 64; ++point) {
            const uint32_t signs_and_scale = blocks::u32(block + 66 + point / 8 * 4);
            const float scale = d * (0.5f + static_cast<float>(signs_and_scale >> 28)) * 0.5f;
            const uint32_t signs = iq_signs(signs_and_scale >> (point % 8 / 2 * 7) & 127) >> (point % 2 * 4);
            decode_point<4, 3>(kIq3XxsGrid[blocks::u8(block + 2 + point)], signs, scale, v + point * 4,
                               [](uint32_t digit) { return kIq3XxsLevels[digit]; });
        }
    });
}

void decode_iq3_s(const std::byte* data, int64_t count, float* values) {
    blocks::for_each<110, kValues>(data, count, values, [](const std::byte* block, float* v) {
        const float d = blocks::f16(block);
        for (int point = 0; point < 64; ++point) {
            const uint32_t high = blocks::u8(block + 66 + point / 8) >> (point % 8) & 1;
            const uint32_t code = blocks::u8(block + 2 + point) | high << 8;
            const uint32_t signs = blocks::u8(block + 74 + point / 2) >> (point % 2 * 4);
            const float scale = d * static_cast<float>(1 + 2 * nibble_of(block + 106, point / 8));
            decode_point<4, 3>(kIq3SGrid[code], signs, scale, v + point * 4,
                               [](uint32_t digit) { return static_cast<int>(2 * digit + 1); });
        }
    });
}

void decode_iq1_s(const std::byte* data, int64_t count, float* values) {
    blocks::for_each<50, kValues>(data, count, values, [](const std::byte* block, float* v) {
        const float d = blocks::f16(block);
        for (int point = 0; point < 32; ++point) {
            const uint32_t group = blocks::u16(block + 34 + point / 4 * 2);
            const uint32_t code = blocks::u8(block + 2 + point) | (group >> (point % 4 * 3) & 7) << 8;
            const float scale = d * static_cast<float>(2 * (group >> 12 & 7) + 1);
            decode_iq1_point(kIq1Grid[code], (group & 0x8000) != 0 ? -0.125f : 0.125f, scale, v + point * 8);
        }
    });
}

void decode_iq1_m(const std::byte* data, int64_t count, float* values) {
    blocks::for_each<56, kValues>(data, count, values, [](const std::byte* block, float* v) {
        uint32_t d_bits = 0;
        for (int word = 0; word < 4; ++word)
            d_bits |= static_cast<uint32_t>(blocks::u16(block + 48 + word * 2)) >> 12 << (word * 4);
        const float d = f16_to_f32(static_cast<f16_bits>(d_bits));
        for (int point = 0; point < 32; ++point) {
            const uint32_t high = nibble_of(block + 32, point);
            const uint32_t code = blocks::u8(block + point) | (high & 7) << 8;
            const int sixteen = point / 2;
            const uint32_t word = blocks::u16(block + 48 + sixteen / 4 * 2);
            const float scale = d * static_cast<float>(2 * (word >> (sixteen % 4 * 3) & 7) + 1);
            decode_iq1_point(kIq1Grid[code], (high & 8) != 0 ? -0.125f : 0.125f, scale, v + point * 8);
        }
    });
}

}  // namespace octavo
