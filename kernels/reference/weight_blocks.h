// What the decoders of block types share: reading the fields of a block, and walking over blocks.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/base/half.h"

namespace octavo::blocks {

static_assert(std::endian::native == std::endian::little, "weights are read in place");

inline uint32_t u8(const std::byte* at) { return std::to_integer<uint32_t>(*at); }
inline int i8(const std::byte* at) { return std::to_integer<int8_t>(*at); }

inline uint16_t u16(const std::byte* at) {
    uint16_t bits;
    std::memcpy(&bits, at, sizeof bits);
    return bits;
}

inline uint32_t u32(const std::byte* at) {
    uint32_t bits;
    std::memcpy(&bits, at, sizeof bits);
    return bits;
}

inline float f16(const std::byte* at) { return f16_to_f32(u16(at)); }

// The 4-bit code of value i among `count` values in count/2 bytes: the low halves are the first values, the high halves
// the others.
inline uint32_t nibble(const std::byte* codes, int i, int count) {
    return i < count / 2 ? u8(codes + i) & 15 : u8(codes + i - count / 2) >> 4;
}

// Calls decode(block, values) for each block of kBytes bytes and kValues values.
template <int kBytes, int kValues, class Decode>
void for_each(const std::byte* data, int64_t blocks, float* values, Decode&& decode) {
    for (int64_t block = 0; block < blocks; ++block) decode(data + block * kBytes, values + block * kValues);
}

}  // namespace octavo::blocks
