// Weight types on the device: exact float32 values of a row, one or eight at a time. Layouts: weight_decode*.cpp of the
// reference. Kernels are made for the types that models are mostly of (with_weight_type); the others share one instance
// that looks at the type as it runs.
#pragma once

#include "kernels/cuda/codebook_weights.cuh"
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/packed_weights.cuh"
#include "kernels/matrix.h"

namespace octavo::cuda {

// A matrix as kernels take it.
struct DeviceMatrix {
    const unsigned char* data;
    int64_t row_bytes;
    int64_t rows;
    int64_t cols;
    WeightType type;
    bool wide;  // rows of plain numbers start at multiples of 16 bytes and have a multiple of 8 of them
};

inline DeviceMatrix device_matrix(const Matrix& w) {
    const bool aligned = reinterpret_cast<uintptr_t>(w.data) % 16 == 0 && w.row_bytes() % 16 == 0 && w.cols % 8 == 0;
    return {reinterpret_cast<const unsigned char*>(w.data), w.row_bytes(), w.rows, w.cols, w.type, aligned};
}

__device__ inline float f16_value(unsigned bits) { return __half2float(__ushort_as_half(static_cast<uint16_t>(bits))); }
__device__ inline float bf16_value(unsigned bits) { return __uint_as_float(bits << 16); }

// Stands for every type that kernels are not made for.
inline constexpr WeightType kOtherTypes = static_cast<WeightType>(kWeightTypes);

template <WeightType type>
__device__ inline void packed_eight(const unsigned char* row, int64_t column, Eight& values) {
    using Packed = PackedWeights<type>;
    Packed::eight(row + column / Packed::kValues * Packed::kBytes, static_cast<int>(column % Packed::kValues), values);
}

// Not inlined, so that the kernels stay small.
__device__ __noinline__ inline void other_eight(WeightType type, const unsigned char* row, int64_t column,
                                                Eight& values) {
    switch (type) {
        case WeightType::q4_1: return packed_eight<WeightType::q4_1>(row, column, values);
        case WeightType::q5_0: return packed_eight<WeightType::q5_0>(row, column, values);
        case WeightType::q5_1: return packed_eight<WeightType::q5_1>(row, column, values);
        case WeightType::q2_k: return packed_eight<WeightType::q2_k>(row, column, values);
        case WeightType::q3_k: return packed_eight<WeightType::q3_k>(row, column, values);
        case WeightType::iq4_nl: return packed_eight<WeightType::iq4_nl>(row, column, values);
        case WeightType::iq3_s: return packed_eight<WeightType::iq3_s>(row, column, values);
        case WeightType::iq3_xxs: return packed_eight<WeightType::iq3_xxs>(row, column, values);
        case WeightType::iq2_xxs: return packed_eight<WeightType::iq2_xxs>(row, column, values);
        case WeightType::iq2_xs: return packed_eight<WeightType::iq2_xs>(row, column, values);
        case WeightType::iq2_s: return packed_eight<WeightType::iq2_s>(row, column, values);
        case WeightType::iq1_s: return packed_eight<WeightType::iq1_s>(row, column, values);
        case WeightType::iq1_m: return packed_eight<WeightType::iq1_m>(row, column, values);
        case WeightType::mxfp4: return packed_eight<WeightType::mxfp4>(row, column, values);
        case WeightType::nvfp4: return packed_eight<WeightType::nvfp4>(row, column, values);
        case WeightType::tq1_0: return packed_eight<WeightType::tq1_0>(row, column, values);
        case WeightType::tq2_0: return packed_eight<WeightType::tq2_0>(row, column, values);
        case WeightType::q1_0: return packed_eight<WeightType::q1_0>(row, column, values);
        case WeightType::q2_0: return packed_eight<WeightType::q2_0>(row, column, values);
        default: return;  // refused where weights are placed
    }
}

template <WeightType type>
__device__ inline float weight_at(const DeviceMatrix& w, const unsigned char* row, int64_t column) {
    if constexpr (type == WeightType::f32) {
        return reinterpret_cast<const float*>(row)[column];
    } else if constexpr (type == WeightType::f16) {
        return f16_value(reinterpret_cast<const uint16_t*>(row)[column]);
    } else if constexpr (type == WeightType::bf16) {
        return bf16_value(reinterpret_cast<const uint16_t*>(row)[column]);
    } else if constexpr (type == WeightType::q8_0) {
        const unsigned char* block = row + column / 32 * 34;
        return f16_value(*reinterpret_cast<const uint16_t*>(block)) *
               static_cast<float>(static_cast<signed char>(block[2 + column % 32]));
    } else {
        Eight values;
        if constexpr (type == kOtherTypes) {
            other_eight(w.type, row, column / 8 * 8, values);
        } else {
            packed_eight<type>(row, column / 8 * 8, values);
        }
        return values[column % 8];
    }
}

// Eight consecutive values from `column`, a multiple of 8, on; those behind `cols` are 0. 8 divides every block. Q8_0
// comes without the scale of the block, which is returned; elsewhere that is 1.
template <WeightType type>
__device__ inline float codes_at(const DeviceMatrix& w, const unsigned char* row, int64_t column, float (&values)[8]) {
    if constexpr (type == WeightType::q8_0) {  // blocks start at even addresses
        const unsigned char* block = row + column / 32 * 34;
        const auto* codes = reinterpret_cast<const uint16_t*>(block + 2 + column % 32);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const unsigned four = codes[2 * half] | static_cast<unsigned>(codes[2 * half + 1]) << 16;
            const unsigned biased = four ^ 0x80808080u;
#pragma unroll
            for (int i = 0; i < 4; ++i) {  // 2^23 + 128 + code
                const unsigned bits = __byte_perm(biased, 0x4b000000u, 0x7440u + static_cast<unsigned>(i));
                values[4 * half + i] = __uint_as_float(bits) - 8388736.0f;
            }
        }
        return f16_value(*reinterpret_cast<const uint16_t*>(block));
    } else if constexpr (type == kOtherTypes) {
        other_eight(w.type, row, column, values);
        return 1;
    } else if constexpr (type != WeightType::f32 && type != WeightType::f16 && type != WeightType::bf16) {
        packed_eight<type>(row, column, values);
        return 1;
    }
    if (!w.wide) {
#pragma unroll
        for (int i = 0; i < 8; ++i) values[i] = column + i < w.cols ? weight_at<type>(w, row, column + i) : 0.0f;
        return 1;
    }
    if constexpr (type == WeightType::f32) {
        const auto* at = reinterpret_cast<const float4*>(row + column * 4);
        const float4 a = __ldg(at);
        const float4 b = __ldg(at + 1);
        values[0] = a.x, values[1] = a.y, values[2] = a.z, values[3] = a.w;
        values[4] = b.x, values[5] = b.y, values[6] = b.z, values[7] = b.w;
    } else if constexpr (type == WeightType::f16 || type == WeightType::bf16) {
        const uint4 raw = __ldg(reinterpret_cast<const uint4*>(row + column * 2));
        const unsigned words[4] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            values[2 * i] = type == WeightType::f16 ? f16_value(words[i] & 0xffff) : bf16_value(words[i] & 0xffff);
            values[2 * i + 1] = type == WeightType::f16 ? f16_value(words[i] >> 16) : bf16_value(words[i] >> 16);
        }
    }
    return 1;
}

// The same with their scale.
template <WeightType type>
__device__ inline void weights_at(const DeviceMatrix& w, const unsigned char* row, int64_t column, float (&values)[8]) {
    const float scale = codes_at<type>(w, row, column, values);
    if constexpr (type == WeightType::q8_0) {
#pragma unroll
        for (int i = 0; i < 8; ++i) values[i] *= scale;
    }
}

// Whether kernels read the type; scales that lie apart from their matrix are not read yet.
inline bool device_reads(const Matrix& w) {
    return w.scale == 1 && w.type != WeightType::f8_e4m3 && w.type != WeightType::nvfp4_apart &&
           w.type != WeightType::f8_e4m3_blocks;
}

// The types that a kernel is made for. Decoders of packed types take registers, also from the other types: kernels for
// the simple ones alone read BF16 at more than twice the speed.
enum class WeightTypes { simple, all };
constexpr bool is_simple(WeightType type) {
    return type == WeightType::f32 || type == WeightType::f16 || type == WeightType::bf16 || type == WeightType::q8_0;
}

// Calls run(std::integral_constant<WeightType, type>) with the type, or kOtherTypes, as a constant. The branch is the
// same for all threads of a block.
template <WeightTypes types, class Run>
__device__ inline void with_weight_type(WeightType type, Run&& run) {
    switch (type) {
        case WeightType::f32: return run(std::integral_constant<WeightType, WeightType::f32>());
        case WeightType::f16: return run(std::integral_constant<WeightType, WeightType::f16>());
        case WeightType::bf16: return run(std::integral_constant<WeightType, WeightType::bf16>());
        case WeightType::q8_0: return run(std::integral_constant<WeightType, WeightType::q8_0>());
        default: break;
    }
    if constexpr (types == WeightTypes::simple) return;
    switch (type) {
        case WeightType::q4_0: return run(std::integral_constant<WeightType, WeightType::q4_0>());
        case WeightType::q4_k: return run(std::integral_constant<WeightType, WeightType::q4_k>());
        case WeightType::q5_k: return run(std::integral_constant<WeightType, WeightType::q5_k>());
        case WeightType::q6_k: return run(std::integral_constant<WeightType, WeightType::q6_k>());
        case WeightType::iq4_xs: return run(std::integral_constant<WeightType, WeightType::iq4_xs>());
        default: return run(std::integral_constant<WeightType, kOtherTypes>());
    }
}

// Eight columns of x[cols]; `wide`: x starts at a multiple of 16 bytes and has a multiple of 8 of them.
template <bool wide>
__device__ inline void inputs_at(const float* x, int64_t column, int64_t cols, float (&inputs)[8]) {
    if constexpr (wide) {
        const auto* at = reinterpret_cast<const float4*>(x + column);
        const float4 a = at[0];
        const float4 b = at[1];
        inputs[0] = a.x, inputs[1] = a.y, inputs[2] = a.z, inputs[3] = a.w;
        inputs[4] = b.x, inputs[5] = b.y, inputs[6] = b.z, inputs[7] = b.w;
    } else {
#pragma unroll
        for (int i = 0; i < 8; ++i) inputs[i] = column + i < cols ? x[column + i] : 0.0f;
    }
}

// The warp's dot product of a weight row with x[cols], the same in every lane. Lanes take eight columns in turn.
template <WeightType type>
__device__ inline float row_dot(const DeviceMatrix& w, int64_t row, const float* x) {
    const unsigned char* data = w.data + row * w.row_bytes;
    float sum = 0;
    const auto add = [&](auto wide) {
#pragma unroll 4
        for (int64_t column = threadIdx.x % kWarp * 8; column < w.cols; column += kWarp * 8) {
            float values[8];
            float inputs[8];
            const float scale = codes_at<type>(w, data, column, values);
            inputs_at<decltype(wide)::value>(x, column, w.cols, inputs);
            float part = 0;
#pragma unroll
            for (int i = 0; i < 8; ++i) part = fmaf(values[i], inputs[i], part);
            sum = fmaf(scale, part, sum);
        }
    };
    if (w.cols % 8 == 0 && reinterpret_cast<uintptr_t>(x) % 16 == 0) {
        add(std::true_type());
    } else {
        add(std::false_type());
    }
    return warp_sum(sum);
}

}  // namespace octavo::cuda
