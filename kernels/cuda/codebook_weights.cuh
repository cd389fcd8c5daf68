// The IQ types on the device, as packed_weights.cuh has the others. Grids lie in the memory of the device.
#pragma once

#include "kernels/cuda/packed_weights.cuh"

namespace octavo::cuda {
namespace packed {

template <int count>
struct Grid {
    uint16_t points[count];
};
template <int count>
constexpr Grid<count> grid_of(const uint16_t (&points)[count]) {
    Grid<count> grid = {};
    for (int i = 0; i < count; ++i) grid.points[i] = points[i];
    return grid;
}

// One point of eight values, or two of four, with their signs.
__device__ inline void iq2_point(unsigned point, unsigned signs, float scale, Eight& v) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const unsigned digit = point >> (2 * i) & 3u;
        const float magnitude = digit == 0 ? 8.0f : digit == 1 ? 25.0f : 43.0f;
        v[i] = scale * magnitude * ((signs >> i & 1u) != 0 ? -1.0f : 1.0f);
    }
}
template <class Magnitude>
__device__ inline void iq3_points(unsigned first, unsigned second, unsigned signs, float scale, Eight& v,
                                  Magnitude magnitude) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const unsigned digit = (i < 4 ? first : second) >> (3 * (i % 4)) & 7u;
        v[i] = scale * magnitude(digit) * ((signs >> i & 1u) != 0 ? -1.0f : 1.0f);
    }
}
__device__ inline void iq1_point(unsigned point, float shift, float scale, Eight& v) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        v[i] = scale * (static_cast<float>(static_cast<int>(point >> (2 * i) & 3u) - 1) + shift);
    }
}
__device__ inline float quarter_scale(float d, unsigned scale) {
    return d * (0.5f + static_cast<float>(scale)) * 0.25f;
}
// kIq4Levels, four to a word, plus 128.
__device__ inline float iq4_level(unsigned code) {
    const unsigned words[4] = {0x3f2d1801u, 0x766a5d4fu, 0xa6998d81u, 0xf1d9c5b5u};
    return static_cast<float>(static_cast<int>(words[code / 4] >> (code % 4 * 8) & 255u) - 128);
}

}  // namespace packed

template <>
struct PackedWeights<WeightType::iq4_nl> {
    static constexpr int kValues = 32;
    static constexpr int kBytes = 18;
    __device__ static void eight(const unsigned char* block, int at, Eight& v) {
        const float scale = packed::f16(block);
        packed::eight_nibbles<32>(block + 2, at, [&](int i, unsigned code) { v[i] = scale * packed::iq4_level(code); });
    }
};

template <>
struct PackedWeights<WeightType::iq4_xs> {
    static constexpr int kValues = 256;
    static constexpr int kBytes = 136;
    __device__ static void eight(const unsigned char* block, int at, Eight& v) {
        const int sub = at / 32;
        const unsigned code = packed::nibble(block + 4, sub) | (packed::u16(block + 2) >> (sub * 2) & 3u) << 4;
        const float scale = packed::f16(block) * static_cast<float>(static_cast<int>(code) - 32);
        packed::eight_nibbles<32>(block + 8 + sub * 16, at % 32,
                                  [&](int i, unsigned level) { v[i] = scale * packed::iq4_level(level); });
    }
};

namespace packed {

__device__ const Grid<256> iq2_xxs_grid = grid_of(kIq2XxsGrid);
__device__ const Grid<512> iq2_xs_grid = grid_of(kIq2XsGrid);
__device__ const Grid<1024> iq2_s_grid = grid_of(kIq2SGrid);
__device__ const Grid<256> iq3_xxs_grid = grid_of(kIq3XxsGrid);
__device__ const Grid<512> iq3_s_grid = grid_of(kIq3SGrid);
__device__ const Grid<2048> iq1_grid = grid_of(kIq1Grid);

}  // namespace packed

template <>
struct PackedWeights<WeightType::iq2_xxs> {
    static constexpr int kValues = 256;
    static constexpr int kBytes = 66;
    __device__ static void eight(const unsigned char* block, int at, Eight& v) {
        const unsigned char* group = block + 2 + at / 32 * 8;
        const unsigned signs_and_scale = packed::u32(group + 4);
        const int point = at % 32 / 8;
        packed::iq2_point(packed::iq2_xxs_grid.points[group[point]], iq_signs(signs_and_scale >> (point * 7) & 127u),
                          packed::quarter_scale(packed::f16(block), signs_and_scale >> 28), v);
    }
};

template <>
struct PackedWeights<WeightType::iq2_xs> {
    static constexpr int kValues = 256;
    static constexpr int kBytes = 74;
    __device__ static void eight(const unsigned char* block, int at, Eight& v) {
        const unsigned code = packed::u16(block + 2 + at / 8 * 2);
        packed::iq2_point(packed::iq2_xs_grid.points[code & 511u], iq_signs(code >> 9),
                          packed::quarter_scale(packed::f16(block), packed::nibble(block + 66, at / 16)), v);
    }
};

template <>
struct PackedWeights<WeightType::iq2_s> {
    static constexpr int kValues = 256;
    static constexpr int kBytes = 82;
    __device__ static void eight(const unsigned char* block, int at, Eight& v) {
        const int point = at / 8;
        const unsigned code = block[2 + point] | (block[66 + point / 4] >> (point % 4 * 2) & 3u) << 8;
        packed::iq2_point(packed::iq2_s_grid.points[code], block[34 + point],
                          packed::quarter_scale(packed::f16(block), packed::nibble(block + 74, at / 16)), v);
    }
};

template <>
struct PackedWeights<WeightType::iq3_xxs> {
    static constexpr int kValues = 256;
    static constexpr int kBytes = 98;
    __device__ static void eight(const unsigned char* block, int at, Eight& v) {
        const unsigned char* codes = block + 2 + at / 4;
        const unsigned signs_and_scale = packed::u32(block + 66 + at / 32 * 4);
        const float scale = packed::f16(block) * (0.5f + static_cast<float>(signs_and_scale >> 28)) * 0.5f;
        const unsigned signs = iq_signs(signs_and_scale >> (at % 32 / 8 * 7) & 127u);
        packed::iq3_points(packed::iq3_xxs_grid.points[codes[0]], packed::iq3_xxs_grid.points[codes[1]], signs, scale,
                           v, [](unsigned digit) { return digit == 7 ? 62.0f : static_cast<float>(8 * digit + 4); });
    }
};

template <>
struct PackedWeights<WeightType::iq3_s> {
    static constexpr int kValues = 256;
    static constexpr int kBytes = 110;
    __device__ static void eight(const unsigned char* block, int at, Eight& v) {
        const int point = at / 4;
        const unsigned high = block[66 + point / 8] >> (point % 8);
        const unsigned first = block[2 + point] | (high & 1u) << 8;
        const unsigned second = block[3 + point] | (high >> 1 & 1u) << 8;
        const float scale = packed::f16(block) * static_cast<float>(1 + 2 * packed::nibble(block + 106, at / 32));
        packed::iq3_points(packed::iq3_s_grid.points[first], packed::iq3_s_grid.points[second], block[74 + at / 8],
                           scale, v, [](unsigned digit) { return static_cast<float>(2 * digit + 1); });
    }
};

template <>
struct PackedWeights<WeightType::iq1_s> {
    static constexpr int kValues = 256;
    static constexpr int kBytes = 50;
    __device__ static void eight(const unsigned char* block, int at, Eight& v) {
        const int point = at / 8;
        const unsigned group = packed::u16(block + 34 + at / 32 * 2);
        const unsigned code = block[2 + point] | (group >> (point % 4 * 3) & 7u) << 8;
        const float scale = packed::f16(block) * static_cast<float>(2 * (group >> 12 & 7u) + 1);
        packed::iq1_point(packed::iq1_grid.points[code], (group & 0x8000u) != 0 ? -0.125f : 0.125f, scale, v);
    }
};

template <>
struct PackedWeights<WeightType::iq1_m> {
    static constexpr int kValues = 256;
    static constexpr int kBytes = 56;
    __device__ static void eight(const unsigned char* block, int at, Eight& v) {
        unsigned d_bits = 0;
#pragma unroll
        for (int word = 0; word < 4; ++word) d_bits |= packed::u16(block + 48 + word * 2) >> 12 << (word * 4);
        const float d = __half2float(__ushort_as_half(static_cast<uint16_t>(d_bits)));
        const int point = at / 8;
        const unsigned high = packed::nibble(block + 32, point);
        const unsigned code = block[point] | (high & 7u) << 8;
        const int sixteen = at / 16;
        const unsigned word = packed::u16(block + 48 + sixteen / 4 * 2);
        const float scale = d * static_cast<float>(2 * (word >> (sixteen % 4 * 3) & 7u) + 1);
        packed::iq1_point(packed::iq1_grid.points[code], (high & 8u) != 0 ? -0.125f : 0.125f, scale, v);
    }
};

}  // namespace octavo::cuda
