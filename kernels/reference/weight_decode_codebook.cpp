// Types whose codes point into a table of values. Layouts, offsets in bytes, scale d in f16:
//   IQ4_NL  18, 32 values: d, 16 bytes of 4-bit codes (low halves first); value = d * level[code]
//   IQ4_XS 136, 256 values in sub-blocks of 32: d, 8 x 2 high bits of the scales (u16), 8 x 4 low bits (4 bytes), 128
//               bytes of codes, 16 to a sub-block; value = d * (scale - 32) * level[code]
#include "kernels/reference/weight_blocks.h"
#include "kernels/reference/weight_decode.h"

namespace octavo {
namespace {

// Levels of the 4-bit types, unevenly spaced as quantiles of a normal distribution are.
constexpr float kLevels[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

void decode_levels(const std::byte* codes, float scale, float* values) {
    for (int i = 0; i < 32; ++i) values[i] = scale * kLevels[blocks::nibble(codes, i, 32)];
}

}  // namespace

void decode_iq4_nl(const std::byte* data, int64_t count, float* values) {
    blocks::for_each<18, 32>(data, count, values,
                             [](const std::byte* block, float* v) { decode_levels(block + 2, blocks::f16(block), v); });
}

void decode_iq4_xs(const std::byte* data, int64_t count, float* values) {
    blocks::for_each<136, 256>(data, count, values, [](const std::byte* block, float* v) {
        const float d = blocks::f16(block);
        for (int sub = 0; sub < 8; ++sub) {
            const uint32_t low = blocks::u8(block + 4 + sub / 2) >> (sub % 2 * 4) & 15;
            const uint32_t high = static_cast<uint32_t>(blocks::u16(block + 2)) >> (sub * 2) & 3;
            const int scale = static_cast<int>(low | high << 4) - 32;
            decode_levels(block + 8 + sub * 16, d * static_cast<float>(scale), v + sub * 32);
        }
    });
}

}  // namespace octavo
