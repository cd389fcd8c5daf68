// Block layouts of GGUF weight types, all little-endian and without padding. Plain numbers: F32, F16, BF16. Blocks of
// 32 values, scale and minimum in f16, value i's 4-bit code in the low half of byte i, value i+16's in its high half:
//   Q4_0: scale, 16 bytes;                      value = scale * (code - 8)
//   Q4_1: scale, minimum, 16 bytes;             value = scale * code + minimum
//   Q5_0: scale, 32 fifth bits, 16 bytes;       value = scale * (code - 16)
//   Q5_1: scale, minimum, 32 fifth bits, 16 bytes; value = scale * code + minimum
//   Q8_0: scale, 32 int8 codes;                 value = scale * code
#include "kernels/reference/weight_decode.h"

#include "kernels/reference/weight_blocks.h"

namespace octavo {
namespace {

constexpr int kValues = 32;

int five_bits(const std::byte* codes, uint32_t fifth, int i) {
    return static_cast<int>(blocks::nibble(codes, i, kValues) | (fifth >> i & 1) << 4);
}

}  // namespace

void decode_f32(const std::byte* data, int64_t blocks, float* values) {
    std::memcpy(values, data, static_cast<size_t>(blocks) * sizeof(float));
}

void decode_f16(const std::byte* data, int64_t blocks, float* values) {
    for (int64_t i = 0; i < blocks; ++i) values[i] = blocks::f16(data + 2 * i);
}

void decode_bf16(const std::byte* data, int64_t blocks, float* values) {
    for (int64_t i = 0; i < blocks; ++i) values[i] = bf16_to_f32(blocks::u16(data + 2 * i));
}

void decode_q4_0(const std::byte* data, int64_t count, float* values) {
    blocks::for_each<18, kValues>(data, count, values, [](const std::byte* block, float* v) {
        const float scale = blocks::f16(block);
        for (int i = 0; i < kValues; ++i) {
            v[i] = scale * static_cast<float>(static_cast<int>(blocks::nibble(block + 2, i, kValues)) - 8);
        }
    });
}

void decode_q4_1(const std::byte* data, int64_t count, float* values) {
    blocks::for_each<20, kValues>(data, count, values, [](const std::byte* block, float* v) {
        const float scale = blocks::f16(block);
        const float minimum = blocks::f16(block + 2);
        for (int i = 0; i < kValues; ++i) {
            v[i] = scale * static_cast<float>(blocks::nibble(block + 4, i, kValues)) + minimum;
        }
    });
}

void decode_q5_0(const std::byte* data, int64_t count, float* values) {
    blocks::for_each<22, kValues>(data, count, values, [](const std::byte* block, float* v) {
        const float scale = blocks::f16(block);
        const uint32_t fifth = blocks::u32(block + 2);
        for (int i = 0; i < kValues; ++i) v[i] = scale * static_cast<float>(five_bits(block + 6, fifth, i) - 16);
    });
}

void decode_q5_1(const std::byte* data, int64_t count, float* values) {
    blocks::for_each<24, kValues>(data, count, values, [](const std::byte* block, float* v) {
        const float scale = blocks::f16(block);
        const float minimum = blocks::f16(block + 2);
        const uint32_t fifth = blocks::u32(block + 4);
        for (int i = 0; i < kValues; ++i) v[i] = scale * static_cast<float>(five_bits(block + 8, fifth, i)) + minimum;
    });
}

void decode_q8_0(const std::byte* data, int64_t count, float* values) {
    blocks::for_each<34, kValues>(data, count, values, [](const std::byte* block, float* v) {
        const float scale = blocks::f16(block);
        for (int i = 0; i < kValues; ++i) v[i] = scale * static_cast<float>(blocks::i8(block + 2 + i));
    });
}

}  // namespace octavo
