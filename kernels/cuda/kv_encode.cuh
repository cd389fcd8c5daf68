// The encoders of kernels/reference/kv_codec_*.cpp, step by step the same, so that the bytes are the same: float32, no
// fused multiplications (the whole folder is compiled so), sums in index order, division, rounding half away from zero.
//
// A run is 32 values that share a scale (block formats and per-channel groups), or the whole row of a head.
#pragma once

#include "kernels/cuda/device.cuh"
#include "kernels/kv_format.h"

namespace octavo::cuda {

__device__ inline f16_bits to_f16(float value) { return __half_as_ushort(__float2half_rn(value)); }
__device__ inline float from_f16(f16_bits bits) { return __half2float(__ushort_as_half(bits)); }
__device__ inline bool fits_f16(float scale) { return isfinite(from_f16(to_f16(scale))); }

// round-half-away(x / d), within [low, high]; d = 0 gives 0.
__device__ inline int quantise(float x, float d, int low, int high) {
    if (d == 0) return 0;
    const float code = roundf(x / d);
    if (code < static_cast<float>(low)) return low;
    if (code > static_cast<float>(high)) return high;
    return static_cast<int>(code);
}

__device__ inline uint8_t to_e4m3(float value) {
    const unsigned sign = signbit(value) ? 0x80u : 0u;
    const float magnitude = fabsf(value);
    if (magnitude >= 448.0f) return static_cast<uint8_t>(sign | 0x7eu);
    int exponent = 0;
    frexpf(magnitude, &exponent);
    const int step = magnitude < 0x1p-5f ? -9 : exponent - 4;
    const int units = static_cast<int>(rintf(ldexpf(magnitude, -step)));
    if (step == -9) return static_cast<uint8_t>(sign | static_cast<unsigned>(units));
    return static_cast<uint8_t>(sign | static_cast<unsigned>((step + 9) * 8 + units));
}

// One run's values, ready: `code(i)` and the scale are what the payload is packed from. False: cannot be encoded.
// Writes `codes` as the bits of the format (two's complement, cut to its width by the packer; or codebook indices).
struct Run32 {
    int8_t codes[kKvBlock];
    f16_bits scale;
};

__device__ inline bool largest_magnitude(const float (&x)[kKvBlock], float& largest) {
    largest = 0;
    for (int i = 0; i < kKvBlock; ++i) {
        if (!isfinite(x[i])) return false;
        largest = fmaxf(largest, fabsf(x[i]));
    }
    return true;
}

// q8_0, q6_0, q4_0
__device__ inline bool encode_symmetric(const float (&x)[kKvBlock], int bits, KvEncoder encoder, Run32& run) {
    float largest;
    if (!largest_magnitude(x, largest)) return false;
    const int low = -(1 << (bits - 1));
    const int high = -low - 1;
    const float reference_divisor = static_cast<float>(bits == 4 ? -low : high);
    const bool refine = encoder == KvEncoder::refined && bits < 8;
    float extreme = 0;
    for (int i = 0; i < kKvBlock; ++i) {
        if (fabsf(x[i]) > fabsf(extreme)) extreme = x[i];
    }
    float d = refine ? extreme / static_cast<float>(low) : largest / reference_divisor;
    if (!fits_f16(d)) return false;
    run.scale = to_f16(d);
    d = from_f16(run.scale);
    float xq = 0;
    float qq = 0;
    for (int i = 0; i < kKvBlock; ++i) {
        const int code = quantise(x[i], d, bits == 8 ? -high : low, high);
        run.codes[i] = static_cast<int8_t>(code);
        xq += x[i] * static_cast<float>(code);
        qq += static_cast<float>(code) * static_cast<float>(code);
    }
    if (refine) {
        d = qq == 0 ? 0.0f : xq / qq;
        if (!fits_f16(d)) return false;
        run.scale = to_f16(d);
    }
    if ((run.scale & 0x7fffu) == 0) {
        for (int i = 0; i < kKvBlock; ++i) run.codes[i] = 0;
    }
    return true;
}

__device__ inline bool encode_e4m3(const float (&x)[kKvBlock], Run32& run) {
    float largest;
    if (!largest_magnitude(x, largest) || !fits_f16(largest / 448.0f)) return false;
    run.scale = to_f16(largest / 448.0f);
    const float d = from_f16(run.scale);
    for (int i = 0; i < kKvBlock; ++i) run.codes[i] = static_cast<int8_t>(d == 0 ? 0 : to_e4m3(x[i] / d));
    return true;
}

__device__ inline float q2_level(int code) {
    const float magnitude = code == 0 || code == 3 ? 1.510f : 0.4528f;
    return code < 2 ? -magnitude : magnitude;
}
__device__ inline int q2_code(float t) { return (t >= -kQ2Boundary) + (t >= 0.0f) + (t >= kQ2Boundary); }

__device__ inline float q4_nl_level(int code) {
    constexpr float kMagnitudes[8] = {0.1284f, 0.3881f, 0.6568f, 0.9424f, 1.2562f, 1.6180f, 2.0690f, 2.7326f};
    const float magnitude = kMagnitudes[code < 8 ? 7 - code : code - 8];
    return code < 8 ? -magnitude : magnitude;
}
__device__ inline int q4_nl_code(float t) {
    int code = 0;
    while (code < 15 && t >= (q4_nl_level(code) + q4_nl_level(code + 1)) * 0.5f) ++code;
    return code;
}

// Codes under scale d, then the scale refitted to them.
template <bool two_bits>
__device__ inline bool assign_and_refit(const float (&x)[kKvBlock], float& d, int8_t (&codes)[kKvBlock]) {
    float xq = 0;
    float qq = 0;
    for (int i = 0; i < kKvBlock; ++i) {
        const int code = d == 0 ? 0 : two_bits ? q2_code(x[i] / d) : q4_nl_code(x[i] / d);
        codes[i] = static_cast<int8_t>(code);
        const float level = two_bits ? q2_level(code) : q4_nl_level(code);
        xq += x[i] * level;
        qq += level * level;
    }
    const float refit = qq == 0 ? 0.0f : xq / qq;
    if (!fits_f16(refit)) return false;
    d = d == 0 ? 0 : from_f16(to_f16(refit));
    if (d == 0) {
        for (int i = 0; i < kKvBlock; ++i) codes[i] = 0;
    }
    return true;
}

__device__ inline bool block_rms(const float (&x)[kKvBlock], float& rms) {
    float sum = 0;
    for (int i = 0; i < kKvBlock; ++i) sum += x[i] * x[i];
    rms = sqrtf(sum / static_cast<float>(kKvBlock));
    if (!fits_f16(rms)) return false;
    rms = from_f16(to_f16(rms));
    return true;
}

__device__ inline bool encode_q2(const float (&x)[kKvBlock], Run32& run) {
    float d = 0;
    if (!block_rms(x, d) || !assign_and_refit<true>(x, d, run.codes)) return false;
    run.scale = to_f16(d);
    return true;
}

__device__ inline bool encode_q4_nl(const float (&x)[kKvBlock], Run32& run) {
    constexpr int kStarts = 13;
    constexpr float kStart[kStarts] = {0.7f,  0.75f, 0.8f,  0.85f, 0.9f,  0.95f, 1.0f,
                                       1.05f, 1.1f,  1.15f, 1.2f,  1.25f, 1.3f};
    float rms = 0;
    if (!block_rms(x, rms)) return false;
    float best_d = 0;
    float best_error = 0;
    for (int s = 0; s < kStarts; ++s) {
        int8_t codes[kKvBlock];
        float d = rms * kStart[s];
        if (!fits_f16(d)) return false;
        d = from_f16(to_f16(d));
        if (!assign_and_refit<false>(x, d, codes)) return false;
        float error = 0;
        for (int i = 0; i < kKvBlock; ++i) {
            const float difference = x[i] - d * q4_nl_level(codes[i]);
            error += difference * difference;
        }
        if (s != 0 && !(error < best_error)) continue;
        best_d = d;
        best_error = error;
        for (int i = 0; i < kKvBlock; ++i) run.codes[i] = codes[i];
    }
    run.scale = to_f16(best_d);
    return true;
}

// ---- packing of 32 codes ----

__device__ inline void pack_nibbles(const int8_t* codes, uint8_t* to) {
    for (int i = 0; i < kKvBlock / 2; ++i) {
        to[i] = static_cast<uint8_t>((codes[2 * i] & 15) | (codes[2 * i + 1] & 15) << 4);
    }
}
__device__ inline void pack_pairs(const int8_t* codes, int shift, uint8_t* to) {
    for (int i = 0; i < kKvBlock / 4; ++i) {
        unsigned byte = 0;
        for (int j = 0; j < 4; ++j) byte |= static_cast<unsigned>(codes[4 * i + j] >> shift & 3) << (2 * j);
        to[i] = static_cast<uint8_t>(byte);
    }
}

// A block of 32 values at `block` of a row of head_dim values.
__device__ inline bool store_block(KvFormat format, const float (&x)[kKvBlock], int block, int head_dim, uint8_t* row,
                                   f16_bits* scales, KvEncoder encoder) {
    Run32 run;
    bool good = true;
    switch (format) {
        case KvFormat::q8_0: good = encode_symmetric(x, 8, encoder, run); break;
        case KvFormat::q6_0: good = encode_symmetric(x, 6, encoder, run); break;
        case KvFormat::q4_0: good = encode_symmetric(x, 4, encoder, run); break;
        case KvFormat::fp8_e4m3: good = encode_e4m3(x, run); break;
        case KvFormat::q2t:
        case KvFormat::q2c: good = encode_q2(x, run); break;
        case KvFormat::q4_nl: good = encode_q4_nl(x, run); break;
        default: good = false;
    }
    if (!good) return false;
    scales[block] = run.scale;
    switch (format) {
        case KvFormat::q6_0:
            pack_nibbles(run.codes, row + block * 16);
            pack_pairs(run.codes, 4, row + head_dim / 2 + block * 8);
            break;
        case KvFormat::q4_0:
        case KvFormat::q4_nl: pack_nibbles(run.codes, row + block * 16); break;
        case KvFormat::q2t:
        case KvFormat::q2c: pack_pairs(run.codes, 0, row + block * 8); break;
        default:
            for (int i = 0; i < kKvBlock; ++i) row[block * 32 + i] = static_cast<uint8_t>(run.codes[i]);
    }
    return true;
}

}  // namespace octavo::cuda
