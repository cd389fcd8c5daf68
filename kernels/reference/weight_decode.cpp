// Block layouts of GGUF weight types, all little-endian and without padding:
//   F32, F16, BF16: one number
//   Q8_0: 32 values; f16 scale, then 32 int8 codes; value = scale * code
#include "kernels/reference/weight_decode.h"

#include <bit>
#include <cstring>

#include "kernels/base/half.h"

namespace octavo {
namespace {

static_assert(std::endian::native == std::endian::little, "weights are read in place");

constexpr int kQ8Values = 32;
constexpr int kQ8Bytes = 2 + kQ8Values;

uint16_t load_u16(const std::byte* data) {
    uint16_t bits;
    std::memcpy(&bits, data, sizeof bits);
    return bits;
}

}  // namespace

void decode_f32(const std::byte* data, int64_t blocks, float* values) {
    std::memcpy(values, data, static_cast<size_t>(blocks) * sizeof(float));
}

void decode_f16(const std::byte* data, int64_t blocks, float* values) {
    for (int64_t i = 0; i < blocks; ++i) values[i] = f16_to_f32(load_u16(data + 2 * i));
}

void decode_bf16(const std::byte* data, int64_t blocks, float* values) {
    for (int64_t i = 0; i < blocks; ++i) values[i] = bf16_to_f32(load_u16(data + 2 * i));
}

void decode_q8_0(const std::byte* data, int64_t blocks, float* values) {
    for (int64_t block = 0; block < blocks; ++block, data += kQ8Bytes, values += kQ8Values) {
        const float scale = f16_to_f32(load_u16(data));
        for (int i = 0; i < kQ8Values; ++i) {
            values[i] = scale * static_cast<float>(std::to_integer<int8_t>(data[2 + i]));
        }
    }
}

}  // namespace octavo
