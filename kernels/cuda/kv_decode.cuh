// One value of the cache at a time, exactly as the codecs decode it: for conversions, and for attention in float32.
#pragma once

#include "kernels/cuda/kv_encode.cuh"
#include "kernels/cuda/kv_layout.cuh"

namespace octavo::cuda {

__device__ inline float from_e4m3(unsigned code) {
    const int exponent = code >> 3 & 15;
    const int mantissa = code & 7;
    const float magnitude = exponent == 0 ? ldexpf(static_cast<float>(mantissa), -9)
                                          : ldexpf(static_cast<float>(8 + mantissa), exponent - 10);
    return (code & 0x80) != 0 ? -magnitude : magnitude;
}

__device__ inline int nibble_at(const uint8_t* row, int i) { return row[i / 2] >> (i % 2 * 4) & 15; }

// Value i of the bulk's row of `cell`.
__device__ inline float bulk_value(const Cache& cache, const Side& side, int64_t cell, int head, int i) {
    const int64_t unit = unit_of(cache, side, cell, head);
    const uint8_t* row = side.payload + unit * side.payload_bytes;
    const f16_bits* scales = side.scales + unit * side.scale_count;
    switch (side.format) {
        case KvFormat::f32: return reinterpret_cast<const float*>(row)[i];
        case KvFormat::f16: return from_f16(reinterpret_cast<const f16_bits*>(row)[i]);
        case KvFormat::bf16:
            return __uint_as_float(static_cast<unsigned>(reinterpret_cast<const bf16_bits*>(row)[i]) << 16);
        case KvFormat::q8_0: return from_f16(scales[i / kKvBlock]) * static_cast<float>(static_cast<int8_t>(row[i]));
        case KvFormat::fp8_e4m3: return from_f16(scales[i / kKvBlock]) * from_e4m3(row[i]);
        case KvFormat::q6_0: {
            const int high = row[cache.head_dim / 2 + i / 4] >> (i % 4 * 2) & 3;
            const int code = ((nibble_at(row, i) | high << 4) ^ 0x20) - 0x20;
            return from_f16(scales[i / kKvBlock]) * static_cast<float>(code);
        }
        case KvFormat::q4_0: return from_f16(scales[i / kKvBlock]) * static_cast<float>((nibble_at(row, i) ^ 8) - 8);
        case KvFormat::q8r: return from_f16(*scales) * static_cast<float>(static_cast<int8_t>(row[i]));
        case KvFormat::q6r: {
            const uint8_t* four = row + i / 4 * 3;
            const unsigned packed =
                four[0] | static_cast<unsigned>(four[1]) << 8 | static_cast<unsigned>(four[2]) << 16;
            return from_f16(*scales) * static_cast<float>(static_cast<int>(packed >> (i % 4 * 6) & 63u) - 32);
        }
        case KvFormat::q4r: return from_f16(*scales) * static_cast<float>((nibble_at(row, i) ^ 8) - 8);
        case KvFormat::q2c: {
            const int slot = static_cast<int>(cell % kKvGroupCells);
            return from_f16(scales[i]) * q2_level(row[i * 8 + slot / 4] >> (slot % 4 * 2) & 3);
        }
        case KvFormat::q2t: return from_f16(scales[i / kKvBlock]) * q2_level(row[i / 4] >> (i % 4 * 2) & 3);
        case KvFormat::q4_nl: return from_f16(scales[i / kKvBlock]) * q4_nl_level(nibble_at(row, i));
    }
    return 0;
}

// Value i of `cell` as the query at `position` reads it.
__device__ inline float cached_value(const Cache& cache, const Side& side, const f16_bits* fresh, int64_t first_cell,
                                     int64_t position, int64_t cell, int head, int i) {
    if (!reads_copy(cache, side, position, cell)) return bulk_value(cache, side, cell, head, i);
    return from_f16(copy_of(cache, side, fresh, first_cell, cell, head)[i]);
}

}  // namespace octavo::cuda
