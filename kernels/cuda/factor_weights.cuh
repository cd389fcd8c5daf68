// Weights as FP16 factors of the tensor cores. Columns of a row come in chunks that lie in shared memory as they lie in
// the file; a lane takes eight columns at a time, as four pairs of FP16 numbers.
//
// FactorWeights<type> has
//   kType
//   kColumns, kBytes    of a chunk, kColumns a multiple of 64; kBytes the most that it may have
//   kAlign              chunks start at multiples of it in the file
//   eights(source, column, f)   the columns [column, column + 8) of the chunk and those 32 further on
//
// BF16, F16, FP8 and NVFP4 numbers are exact (BF16 below 2^-17 loses bits). Packed types are their codes, exact, times
// scales that are rounded to 11 bits (packed_factors.cuh), or their float32 values rounded to 11 bits.
#pragma once

#include "kernels/cuda/mma.cuh"
#include "kernels/cuda/weights.cuh"

namespace octavo::cuda {

// Where a lane reads a row: its chunk in shared memory, and what of it lies elsewhere.
struct FactorSource {
    const DeviceMatrix& w;
    const unsigned char* chunk;
    const WeightRow& row;
    int64_t first_column;  // of the chunk
};

namespace factors {

__device__ inline __half2 halves(uint32_t pair) { return *reinterpret_cast<const __half2*>(&pair); }
__device__ inline uint32_t bits(__half2 pair) { return *reinterpret_cast<const uint32_t*>(&pair); }
__device__ inline uint32_t twice(uint32_t half_bits) { return half_bits | half_bits << 16; }

__device__ inline uint4 packed(const float (&v)[8]) {
    return {pack_f16(v[0], v[1]), pack_f16(v[2], v[3]), pack_f16(v[4], v[5]), pack_f16(v[6], v[7])};
}

}  // namespace factors

template <WeightType type>
struct FactorWeights;

// Any type without one of its own: by its float32 values.
struct OtherFactorWeights {
    static constexpr WeightType kType = kOtherTypes;
    static constexpr int kColumns = 256, kBytes = 192, kAlign = 1;

    __device__ static void eights(const FactorSource& from, int column, uint4 (&f)[2]) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            float values[8];
            other_eight(from.w.type, from.chunk, column + 32 * i, values);
            f[i] = factors::packed(values);
        }
    }
};

// F16 and BF16.
template <WeightType type>
struct FactorsOf16Bits {
    static constexpr WeightType kType = type;
    static constexpr int kColumns = 64, kBytes = 128, kAlign = 2;

    __device__ static uint32_t pair(uint32_t word) {
        if constexpr (type == WeightType::f16) return word;
        return pack_f16(bf16_value(word & 0xffffu), __uint_as_float(word & 0xffff0000u));
    }
    __device__ static void eights(const FactorSource& from, int column, uint4 (&f)[2]) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            uint4 raw;
            if (from.w.wide) {
                raw = *reinterpret_cast<const uint4*>(from.chunk + (column + 32 * i) * 2);
            } else {
                const auto* const at = reinterpret_cast<const uint16_t*>(from.chunk) + column + 32 * i;
                const int64_t left = from.w.cols - from.first_column - column - 32 * i;
                const auto two = [&](int j) { return (j < left ? at[j] : 0u) | (j + 1 < left ? at[j + 1] : 0u) << 16; };
                raw = {two(0), two(2), two(4), two(6)};
            }
            f[i] = {pair(raw.x), pair(raw.y), pair(raw.z), pair(raw.w)};
        }
    }
};
template <>
struct FactorWeights<WeightType::f16> : FactorsOf16Bits<WeightType::f16> {};
template <>
struct FactorWeights<WeightType::bf16> : FactorsOf16Bits<WeightType::bf16> {};

// FP8, also in blocks with a float32 scale for 128 columns.
template <WeightType type>
struct FactorsOf8Bits {
    static constexpr WeightType kType = type;
    static constexpr int kColumns = 128, kBytes = 128, kAlign = 1;

    __device__ static void eights(const FactorSource& from, int column, uint4 (&f)[2]) {
        const float scale = block_scale<type>(from.row, from.first_column);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const unsigned char* const at = from.chunk + column + 32 * i;
            uint2 raw;
            if (from.w.wide || type == WeightType::f8_e4m3_blocks) {
                raw = *reinterpret_cast<const uint2*>(at);
            } else {
                const int64_t left = from.w.cols - from.first_column - column - 32 * i;
                const auto four = [&](int j) {
                    uint32_t word = 0;
#pragma unroll
                    for (int k = 0; k < 4; ++k) word |= (j + k < left ? at[j + k] : 0u) << (8 * k);
                    return word;
                };
                raw = {four(0), four(4)};
            }
            const auto pair = [&](uint32_t word) {
                const uint32_t numbers = e4m3_pair(word);
                if constexpr (type == WeightType::f8_e4m3) return numbers;
                const float2 both = floats_of(numbers);
                return pack_f16(scale * both.x, scale * both.y);
            };
            f[i] = {pair(raw.x), pair(raw.x >> 16), pair(raw.y), pair(raw.y >> 16)};
        }
    }
};
template <>
struct FactorWeights<WeightType::f8_e4m3> : FactorsOf8Bits<WeightType::f8_e4m3> {};
template <>
struct FactorWeights<WeightType::f8_e4m3_blocks> : FactorsOf8Bits<WeightType::f8_e4m3_blocks> {};

template <>
struct FactorWeights<WeightType::nvfp4_apart> {
    static constexpr WeightType kType = WeightType::nvfp4_apart;
    static constexpr int kColumns = 256, kBytes = 128, kAlign = 8;

    __device__ static void eights(const FactorSource& from, int column, uint4 (&f)[2]) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int64_t at = from.first_column + column + 32 * i;
            const uint32_t code = at < from.w.cols ? __ldg(from.row.scales + at / 16) : 0u;
            const __half2 scale = factors::halves(factors::twice(e4m3_pair(code) & 0xffffu));
            uint32_t pairs[4];  // of the values i and i + 4
            e2m1_pairs(*reinterpret_cast<const uint32_t*>(from.chunk + (column + 32 * i) / 2), pairs);
            const auto scaled = [&](uint32_t a, uint32_t b, unsigned which) {
                return factors::bits(__hmul2(factors::halves(__byte_perm(a, b, which)), scale));
            };
            f[i] = {scaled(pairs[0], pairs[1], 0x5410), scaled(pairs[2], pairs[3], 0x5410),
                    scaled(pairs[0], pairs[1], 0x7632), scaled(pairs[2], pairs[3], 0x7632)};
        }
    }
};

}  // namespace octavo::cuda
