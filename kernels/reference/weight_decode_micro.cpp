// Types of very few bits whose codes are small floats, or -1, 0 and 1. Offsets in bytes:
//   MXFP4 17, 32 values: exponent e, 16 bytes of E2M1 codes (low halves first); value = 2^(e - 127) * E2M1
//   NVFP4 36, 64 values: 4 scales in E4M3, one to 16 values, 4 x 8 bytes of E2M1 codes (low halves first);
//              value = scale * E2M1. A factor for the whole tensor is stored elsewhere (Matrix::scale).
//   TQ1_0 54, 256 values: 48 bytes of five ternary digits, 4 bytes of four, d in f16; value = d * (digit - 1). Bytes
//              0-31 hold 160 values, 32-47 the next 80, 48-51 the last 16; of each part, digit n of its byte i is value
//              n * bytes + i. A byte is the digits as a binary fraction of 1, in 1/256, rounded up.
//   TQ2_0 66, 256 values: 64 bytes of four 2-bit codes, d in f16; value = d * (code - 1). Of each 32 bytes, code n of
//              byte i is value 32 n + i.
//   F8_E4M3: one number; a factor for the whole tensor is stored elsewhere
//   NVFP4 of safetensors, blocks of 16 values: 8 bytes of E2M1 codes (even values in low halves), the E4M3 scale in
//              another array; value = scale * E2M1, and a factor for the whole tensor
//   F8_E4M3 in blocks of 128 values (safetensors): 128 numbers, the float32 scale in another array, for 128 rows;
//              value = scale * number
//   Q1_0  18, 128 values: d in f16, 16 bytes of bits; value = d or, where the bit is 0, -d
//   Q2_0  18, 64 values: d in f16, 16 bytes of four 2-bit codes; value = d * (code - 1)
#include "kernels/base/float8.h"
#include "kernels/reference/weight_blocks.h"
#include "kernels/reference/weight_decode.h"

namespace octavo {
namespace {

// Digit n of a byte of ternary digits: three times the fraction that is left after n digits, its whole part.
uint32_t ternary_digit(uint32_t byte, int n) {
    constexpr uint32_t kPowers[5] = {1, 3, 9, 27, 81};
    return (byte * kPowers[n] & 255) * 3 >> 8;
}

// `bytes` bytes of `digits` digits each.
void decode_ternary(const std::byte* packed, int bytes, int digits, float d, float* values) {
    for (int n = 0; n < digits; ++n) {
        for (int i = 0; i < bytes; ++i) {
            *values++ = d * static_cast<float>(static_cast<int>(ternary_digit(blocks::u8(packed + i), n)) - 1);
        }
    }
}

}  // namespace

void decode_mxfp4(const std::byte* data, int64_t count, float* values) {
    blocks::for_each<17, 32>(data, count, values, [](const std::byte* block, float* v) {
        // Half the power of two, and twice the codes: that keeps the largest exponent finite.
        const float scale = e8m0_half_to_f32(std::to_integer<uint8_t>(block[0]));
        for (int i = 0; i < 32; ++i) v[i] = scale * (2 * e2m1_to_f32(blocks::nibble(block + 1, i, 32)));
    });
}

void decode_nvfp4(const std::byte* data, int64_t count, float* values) {
    blocks::for_each<36, 64>(data, count, values, [](const std::byte* block, float* v) {
        for (int sub = 0; sub < 4; ++sub, v += 16) {
            const float scale = e4m3_to_f32(std::to_integer<uint8_t>(block[sub]));
            for (int i = 0; i < 16; ++i) v[i] = scale * e2m1_to_f32(blocks::nibble(block + 4 + sub * 8, i, 16));
        }
    });
}

void decode_f8_e4m3(const std::byte* data, int64_t count, float* values) {
    for (int64_t i = 0; i < count; ++i) values[i] = e4m3_to_f32(std::to_integer<uint8_t>(data[i]));
}

void decode_nvfp4_apart(const std::byte* codes, const std::byte* scales, int64_t count, float* values) {
    for (int64_t block = 0; block < count; ++block, codes += 8) {
        const float scale = e4m3_to_f32(std::to_integer<uint8_t>(scales[block]));
        for (int i = 0; i < 8; ++i) {
            const uint32_t pair = blocks::u8(codes + i);
            *values++ = scale * e2m1_to_f32(pair & 15);
            *values++ = scale * e2m1_to_f32(pair >> 4);
        }
    }
}

void decode_f8_e4m3_blocks(const std::byte* codes, const std::byte* scales, int64_t count, float* values) {
    for (int64_t block = 0; block < count; ++block, codes += 128) {
        float scale;
        std::memcpy(&scale, scales + block * static_cast<int64_t>(sizeof scale), sizeof scale);
        for (int i = 0; i < 128; ++i) *values++ = scale * e4m3_to_f32(blocks::u8(codes + i));
    }
}

void decode_tq1_0(const std::byte* data, int64_t count, float* values) {
    blocks::for_each<54, 256>(data, count, values, [](const std::byte* block, float* v) {
        const float d = blocks::f16(block + 52);
        decode_ternary(block, 32, 5, d, v);
        decode_ternary(block + 32, 16, 5, d, v + 160);
        decode_ternary(block + 48, 4, 4, d, v + 240);
    });
}

void decode_tq2_0(const std::byte* data, int64_t count, float* values) {
    blocks::for_each<66, 256>(data, count, values, [](const std::byte* block, float* v) {
        const float d = blocks::f16(block + 64);
        for (int i = 0; i < 256; ++i) {
            const uint32_t code = blocks::u8(block + i / 128 * 32 + i % 32) >> (i % 128 / 32 * 2) & 3;
            v[i] = d * static_cast<float>(static_cast<int>(code) - 1);
        }
    });
}

void decode_q1_0(const std::byte* data, int64_t count, float* values) {
    blocks::for_each<18, 128>(data, count, values, [](const std::byte* block, float* v) {
        const float d = blocks::f16(block);
        for (int i = 0; i < 128; ++i) v[i] = (blocks::u8(block + 2 + i / 8) >> (i % 8) & 1) != 0 ? d : -d;
    });
}

void decode_q2_0(const std::byte* data, int64_t count, float* values) {
    blocks::for_each<18, 64>(data, count, values, [](const std::byte* block, float* v) {
        const float d = blocks::f16(block);
        for (int i = 0; i < 64; ++i) {
            const uint32_t code = blocks::u8(block + 2 + i / 4) >> (i % 4 * 2) & 3;
            v[i] = d * static_cast<float>(static_cast<int>(code) - 1);
        }
    });
}

}  // namespace octavo
