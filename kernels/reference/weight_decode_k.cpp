// K-quants: 256 values in sub-blocks of 16 or 32, each with a small integer scale (and minimum); scale d and minimum
// scale m of the block are f16. Offsets in bytes:
//   Q2_K  84: 16 x (4-bit scale | 4-bit minimum << 4), 64 bytes of 2-bit codes, d at 80, m at 82;
//             value = d * scale * code - m * minimum
//   Q3_K 110: 32 bytes of third bits, 64 bytes of 2-bit codes, 12 bytes with 16 6-bit scales + 32, d at 108;
//             value = d * scale * (code - 4), where the third bit is 4
//   Q4_K 144: d, m, 12 bytes with 8 6-bit scales and 8 6-bit minimums, 128 bytes of 4-bit codes;
//             value = d * scale * code - m * minimum
//   Q5_K 176: d, m, 12 bytes as in Q4_K, 32 bytes of fifth bits, 128 bytes of 4-bit codes; likewise
//   Q6_K 210: 128 bytes of low 4 bits, 64 bytes of high 2 bits, 16 int8 scales, d at 208; value = d * scale * (code-32)
// 2-bit codes: values 128 h + 32 p + i are bits 2p of byte 32 h + i. 4-bit codes of Q4_K and Q5_K: values 64 g + 32 p
// + i are bits 4p of byte 32 g + i.
#include "kernels/reference/weight_blocks.h"
#include "kernels/reference/weight_decode.h"

namespace octavo {
namespace {

constexpr int kValues = 256;

uint32_t two_bits(const std::byte* codes, int i) {
    return blocks::u8(codes + i / 128 * 32 + i % 32) >> (i % 128 / 32 * 2) & 3;
}

uint32_t four_bits(const std::byte* codes, int i) { return blocks::nibble(codes + i / 64 * 32, i % 64, 64); }

// The 16 scales of Q3_K: low 4 bits in 8 bytes (the first 8 in low halves), high 2 bits in 4 bytes.
int q3_scale(const std::byte* scales, int index) {
    const uint32_t low = blocks::nibble(scales, index, 16);
    const uint32_t high = blocks::u8(scales + 8 + index % 4) >> (index / 4 * 2) & 3;
    return static_cast<int>(low | high << 4) - 32;
}

struct ScaleAndMinimum {
    float scale;
    float minimum;
};

// Of Q4_K and Q5_K: the first four of each are the low 6 bits of bytes 0-3 and 4-7; the others have their low 4 bits in
// bytes 8-11 (scale in the low half) and their high 2 bits on top of bytes 0-3 and 4-7.
ScaleAndMinimum q4_scale(const std::byte* packed, int index) {
    const auto byte = [&](int at) { return blocks::u8(packed + at); };
    if (index < 4) return {static_cast<float>(byte(index) & 63), static_cast<float>(byte(index + 4) & 63)};
    const uint32_t low = byte(index + 4);
    return {static_cast<float>((low & 15) | byte(index - 4) >> 6 << 4),
            static_cast<float>(low >> 4 | byte(index) >> 6 << 4)};
}

}  // namespace

void decode_q2_k(const std::byte* data, int64_t count, float* values) {
    blocks::for_each<84, kValues>(data, count, values, [](const std::byte* block, float* v) {
        const float d = blocks::f16(block + 80);
        const float m = blocks::f16(block + 82);
        for (int i = 0; i < kValues; ++i) {
            const uint32_t packed = blocks::u8(block + i / 16);
            const float scale = d * static_cast<float>(packed & 15);
            const float minimum = m * static_cast<float>(packed >> 4);
            v[i] = scale * static_cast<float>(two_bits(block + 16, i)) - minimum;
        }
    });
}

void decode_q3_k(const std::byte* data, int64_t count, float* values) {
    blocks::for_each<110, kValues>(data, count, values, [](const std::byte* block, float* v) {
        const float d = blocks::f16(block + 108);
        for (int i = 0; i < kValues; ++i) {
            const uint32_t third = blocks::u8(block + i % 32) >> (i / 32) & 1;
            const int code = static_cast<int>(two_bits(block + 32, i) | third << 2) - 4;
            v[i] = d * static_cast<float>(q3_scale(block + 96, i / 16)) * static_cast<float>(code);
        }
    });
}

void decode_q4_k(const std::byte* data, int64_t count, float* values) {
    blocks::for_each<144, kValues>(data, count, values, [](const std::byte* block, float* v) {
        const float d = blocks::f16(block);
        const float m = blocks::f16(block + 2);
        for (int i = 0; i < kValues; ++i) {
            const ScaleAndMinimum sub = q4_scale(block + 4, i / 32);
            v[i] = d * sub.scale * static_cast<float>(four_bits(block + 16, i)) - m * sub.minimum;
        }
    });
}

void decode_q5_k(const std::byte* data, int64_t count, float* values) {
    blocks::for_each<176, kValues>(data, count, values, [](const std::byte* block, float* v) {
        const float d = blocks::f16(block);
        const float m = blocks::f16(block + 2);
        for (int i = 0; i < kValues; ++i) {
            const ScaleAndMinimum sub = q4_scale(block + 4, i / 32);
            const uint32_t fifth = blocks::u8(block + 16 + i % 32) >> (i / 32) & 1;
            v[i] = d * sub.scale * static_cast<float>(four_bits(block + 48, i) | fifth << 4) - m * sub.minimum;
        }
    });
}

void decode_q6_k(const std::byte* data, int64_t count, float* values) {
    blocks::for_each<210, kValues>(data, count, values, [](const std::byte* block, float* v) {
        const float d = blocks::f16(block + 208);
        for (int i = 0; i < kValues; ++i) {
            const int half = i / 128;
            const uint32_t low = blocks::nibble(block + half * 64, i % 128, 128);
            const uint32_t high = two_bits(block + 128, i);
            const float scale = d * static_cast<float>(blocks::i8(block + 192 + i / 16));
            v[i] = scale * static_cast<float>(static_cast<int>(low | high << 4) - 32);
        }
    });
}

}  // namespace octavo
