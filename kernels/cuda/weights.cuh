// Weight types on the device: exact float32 values of a row, one or eight at a time. Layouts: weight_decode*.cpp of the
// reference. Kernels are made for the types that models are mostly of (with_weight_type); the others share one instance
// that looks at the type as it runs.
#pragma once

#include <algorithm>
#include <initializer_list>

#include "kernels/cuda/codebook_weights.cuh"
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/float8_weights.cuh"
#include "kernels/cuda/packed_weights.cuh"
#include "kernels/matrix.h"

namespace octavo::cuda {

// Scales of one of an expert's matrices: they come as those of gate, up and down (Moe::expert_scales).
inline constexpr int kScaleStride = 3;

// A matrix as kernels take it.
struct DeviceMatrix {
    const unsigned char* data;
    int64_t row_bytes;
    int64_t rows;
    int64_t cols;
    WeightType type;
    bool wide;                    // rows of plain numbers start at multiples of 16 bytes and have a multiple of 8
    float scale;                  // of all products
    const unsigned char* scales;  // of blocks, where the type keeps them apart
    int64_t scale_row_bytes;

    // The matrix that lies `index` distances behind this one, a copy of it in all but values. of_groups: their scales;
    // nullptr: this one's.
    __device__ DeviceMatrix of_group(int index, int64_t distance, const float* of_groups) const {
        DeviceMatrix w = *this;
        w.data += index * distance;
        w.scales += index * distance;
        if (of_groups != nullptr) w.scale = of_groups[index * kScaleStride];
        return w;
    }
};

inline DeviceMatrix device_matrix(const Matrix& w) {
    const auto bytes = [](const std::byte* data) { return reinterpret_cast<const unsigned char*>(data); };
    const bool aligned = reinterpret_cast<uintptr_t>(w.data) % 16 == 0 && w.row_bytes() % 16 == 0 && w.cols % 8 == 0;
    return {bytes(w.data),         w.row_bytes(),      w.rows, w.cols, w.type, aligned, w.scale,
            bytes(w.block_scales), w.scale_row_bytes()};
}

struct WeightRow {
    const unsigned char* data;
    const unsigned char* scales;  // of blocks, where the type keeps them apart
};
template <WeightType type>
__device__ inline WeightRow weight_row(const DeviceMatrix& w, int64_t index) {
    constexpr int kF8BlockRows = 128;  // that share their scales
    const unsigned char* scales = nullptr;
    if constexpr (type == WeightType::nvfp4_apart) scales = w.scales + index * w.scale_row_bytes;
    if constexpr (type == WeightType::f8_e4m3_blocks) scales = w.scales + index / kF8BlockRows * w.scale_row_bytes;
    return {w.data + index * w.row_bytes, scales};
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
        default: return;  // has a kernel of its own
    }
}

constexpr bool is_plain(WeightType type) {
    return type == WeightType::f32 || type == WeightType::f16 || type == WeightType::bf16 ||
           type == WeightType::f8_e4m3;
}
// Whether codes_at leaves the scale of the block to the caller.
constexpr bool scale_apart(WeightType type) {
    return type == WeightType::q8_0 || type == WeightType::nvfp4_apart || type == WeightType::f8_e4m3_blocks;
}

// The scale of the block that `column` is in.
template <WeightType type>
__device__ inline float block_scale(const WeightRow& row, int64_t column) {
    if constexpr (type == WeightType::q8_0)
        return f16_value(*reinterpret_cast<const uint16_t*>(row.data + column / 32 * 34));
    if constexpr (type == WeightType::nvfp4_apart) return e4m3_value(__ldg(row.scales + column / 16));
    if constexpr (type == WeightType::f8_e4m3_blocks) {
        return __ldg(reinterpret_cast<const float*>(row.scales) + column / 128);
    }
    return 1;
}

template <WeightType type>
__device__ inline float weight_at(const DeviceMatrix& w, const WeightRow& row, int64_t column) {
    if constexpr (type == WeightType::f32) {
        return reinterpret_cast<const float*>(row.data)[column];
    } else if constexpr (type == WeightType::f16) {
        return f16_value(reinterpret_cast<const uint16_t*>(row.data)[column]);
    } else if constexpr (type == WeightType::bf16) {
        return bf16_value(reinterpret_cast<const uint16_t*>(row.data)[column]);
    } else if constexpr (type == WeightType::q8_0) {
        const auto code = static_cast<signed char>(row.data[column / 32 * 34 + 2 + column % 32]);
        return block_scale<type>(row, column) * static_cast<float>(code);
    } else if constexpr (type == WeightType::f8_e4m3) {
        return e4m3_value(row.data[column]);
    } else if constexpr (type == WeightType::f8_e4m3_blocks) {
        return block_scale<type>(row, column) * e4m3_value(row.data[column]);
    } else if constexpr (type == WeightType::nvfp4_apart) {
        const unsigned code = row.data[column / 2] >> (column % 2 * 4) & 15u;
        return block_scale<type>(row, column) * e2m1_to_f32(code);
    } else {
        Eight values;
        if constexpr (type == kOtherTypes) {
            other_eight(w.type, row.data, column / 8 * 8, values);
        } else {
            packed_eight<type>(row.data, column / 8 * 8, values);
        }
        return values[column % 8];
    }
}

// Eight codes of Q8_0 as numbers; they start at an even address.
__device__ inline void q8_0_eight(const unsigned char* at, float (&values)[8]) {
    const auto* codes = reinterpret_cast<const uint16_t*>(at);
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
}

// Eight plain numbers, all there, of a wide row.
template <WeightType type>
__device__ inline void wide_eight(const unsigned char* row, int64_t column, float (&values)[8]) {
    if constexpr (type == WeightType::f32) {
        const auto* at = reinterpret_cast<const float4*>(row + column * 4);
        const float4 a = __ldg(at);
        const float4 b = __ldg(at + 1);
        values[0] = a.x, values[1] = a.y, values[2] = a.z, values[3] = a.w;
        values[4] = b.x, values[5] = b.y, values[6] = b.z, values[7] = b.w;
    } else if constexpr (type == WeightType::f8_e4m3) {
        const uint2 raw = __ldg(reinterpret_cast<const uint2*>(row + column));
        e4m3_four(raw.x, values);
        e4m3_four(raw.y, values + 4);
    } else {
        const uint4 raw = __ldg(reinterpret_cast<const uint4*>(row + column * 2));
        const unsigned words[4] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            values[2 * i] = type == WeightType::f16 ? f16_value(words[i] & 0xffff) : bf16_value(words[i] & 0xffff);
            values[2 * i + 1] = type == WeightType::f16 ? f16_value(words[i] >> 16) : bf16_value(words[i] >> 16);
        }
    }
}

// Eight consecutive values from `column`, a multiple of 8, on; those behind `cols` are 0. 8 divides every block. Types
// with their scale apart come without the scale of the block, which is returned; elsewhere that is 1. `wide`: plain
// numbers lie in wide rows.
template <WeightType type, bool wide>
__device__ inline float codes_at(const DeviceMatrix& w, const WeightRow& row, int64_t column, float (&values)[8]) {
    if constexpr (type == WeightType::q8_0) {  // blocks start at even addresses
        q8_0_eight(row.data + column / 32 * 34 + 2 + column % 32, values);
    } else if constexpr (type == WeightType::nvfp4_apart) {  // rows start at multiples of 8 bytes
        e2m1_eight(__ldg(reinterpret_cast<const uint32_t*>(row.data + column / 2)), values);
    } else if constexpr (type == WeightType::f8_e4m3_blocks) {  // of 128
        wide_eight<WeightType::f8_e4m3>(row.data, column, values);
    } else if constexpr (type == kOtherTypes) {
        other_eight(w.type, row.data, column, values);
    } else if constexpr (!is_plain(type)) {
        packed_eight<type>(row.data, column, values);
    } else if constexpr (wide) {
        wide_eight<type>(row.data, column, values);
    } else {
#pragma unroll
        for (int i = 0; i < 8; ++i) values[i] = column + i < w.cols ? weight_at<type>(w, row, column + i) : 0.0f;
    }
    return block_scale<type>(row, column);
}

// The same, which looks whether rows are wide.
template <WeightType type>
__device__ inline float codes_at(const DeviceMatrix& w, const WeightRow& row, int64_t column, float (&values)[8]) {
    return w.wide || !is_plain(type) ? codes_at<type, true>(w, row, column, values)
                                     : codes_at<type, false>(w, row, column, values);
}

// The same with their scale.
template <WeightType type>
__device__ inline void weights_at(const DeviceMatrix& w, const WeightRow& row, int64_t column, float (&values)[8]) {
    const float scale = codes_at<type>(w, row, column, values);
    if constexpr (scale_apart(type)) {
#pragma unroll
        for (int i = 0; i < 8; ++i) values[i] *= scale;
    }
}

// The types that a kernel is made for. Decoders of packed types take registers, also from the other types: kernels for
// the simple ones alone read BF16 at more than twice the speed.
enum class WeightTypes { simple, small_floats, all };
constexpr bool holds(WeightTypes types, WeightType type) {
    const bool number = type == WeightType::f32 || type == WeightType::f16 || type == WeightType::bf16;
    if (types == WeightTypes::simple) return number || type == WeightType::q8_0;
    const bool small = type == WeightType::f8_e4m3 || type == WeightType::f8_e4m3_blocks;
    return types == WeightTypes::all || number || small || type == WeightType::nvfp4_apart;
}

// Calls launch.operator()<types>() for the fewest types that hold all of these.
template <class Launch>
void with_weight_types(std::initializer_list<WeightType> wanted, Launch&& launch) {
    const auto hold_all = [&](WeightTypes types) {
        return std::ranges::all_of(wanted, [&](WeightType type) { return holds(types, type); });
    };
    if (hold_all(WeightTypes::simple)) return launch.template operator()<WeightTypes::simple>();
    if (hold_all(WeightTypes::small_floats)) return launch.template operator()<WeightTypes::small_floats>();
    launch.template operator()<WeightTypes::all>();
}

// Calls run(std::integral_constant<WeightType, type>) with the type, or kOtherTypes, as a constant. The branch is the
// same for all threads of a block.
template <WeightTypes types, class Run>
__device__ inline void with_weight_type(WeightType type, Run&& run) {
    switch (type) {
        case WeightType::f32: return run(std::integral_constant<WeightType, WeightType::f32>());
        case WeightType::f16: return run(std::integral_constant<WeightType, WeightType::f16>());
        case WeightType::bf16: return run(std::integral_constant<WeightType, WeightType::bf16>());
        default: break;
    }
    if constexpr (types != WeightTypes::small_floats) {
        if (type == WeightType::q8_0) return run(std::integral_constant<WeightType, WeightType::q8_0>());
    }
    if constexpr (types == WeightTypes::simple) return;
    switch (type) {
        case WeightType::f8_e4m3: return run(std::integral_constant<WeightType, WeightType::f8_e4m3>());
        case WeightType::f8_e4m3_blocks: return run(std::integral_constant<WeightType, WeightType::f8_e4m3_blocks>());
        case WeightType::nvfp4_apart: return run(std::integral_constant<WeightType, WeightType::nvfp4_apart>());
        default: break;
    }
    if constexpr (types == WeightTypes::small_floats) return;
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

// The warp's dot products of `rows` weight rows from `first_row` on (beyond the last one, of that) with `tokens` rows
// of x, `x_stride` floats apart: the same in every lane, without w.scale. Lanes take eight columns in turn.
template <WeightType type, int rows, int tokens>
__device__ inline void row_dots(const DeviceMatrix& w, int64_t first_row, const float* x, int64_t x_stride,
                                float (&sums)[rows][tokens]) {
    // As many loads on their way as hide the memory's latency; codes of 4 bits come in small ones.
    constexpr int kTurns = rows * tokens == 1 ? 8 : tokens == 1 && type == WeightType::nvfp4_apart ? 2 : 1;
    WeightRow data[rows];
#pragma unroll
    for (int r = 0; r < rows; ++r) {
        data[r] = weight_row<type>(w, min(first_row + r, w.rows - 1));
#pragma unroll
        for (int t = 0; t < tokens; ++t) sums[r][t] = 0;
    }
    const auto add = [&](auto wide_reads) {
        constexpr bool wide = decltype(wide_reads)::value;
#pragma unroll(kTurns)
        for (int64_t column = threadIdx.x % kWarp * 8; column < w.cols; column += kWarp * 8) {
            float inputs[tokens][8];
#pragma unroll
            for (int t = 0; t < tokens; ++t) {
                inputs_at<wide>(x + t * x_stride, column, w.cols, inputs[t]);
            }
#pragma unroll
            for (int r = 0; r < rows; ++r) {
                float values[8];
                float scale;
                if constexpr (wide) {
                    scale = codes_at<type, true>(w, data[r], column, values);
                } else {
                    scale = codes_at<type>(w, data[r], column, values);
                }
#pragma unroll
                for (int t = 0; t < tokens; ++t) {
                    float part = 0;
#pragma unroll
                    for (int i = 0; i < 8; ++i) part = fmaf(values[i], inputs[t][i], part);
                    sums[r][t] = fmaf(scale, part, sums[r][t]);
                }
            }
        }
    };
    if (w.cols % 8 == 0 && (w.wide || !is_plain(type)) && reinterpret_cast<uintptr_t>(x) % 16 == 0 &&
        x_stride % 4 == 0) {
        add(std::true_type());
    } else {
        add(std::false_type());
    }
#pragma unroll
    for (int r = 0; r < rows; ++r) {
#pragma unroll
        for (int t = 0; t < tokens; ++t) sums[r][t] = warp_sum(sums[r][t]);
    }
}

}  // namespace octavo::cuda
