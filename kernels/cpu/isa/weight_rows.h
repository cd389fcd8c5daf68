// How the values of a weight row are read as float32 vectors, one struct per weight type. Every value is the
// decoder's to the bit: the product of an 8-bit code and a half-precision scale fits a float32, others are rounded
// once.
//
// A row is read in steps of kStep values; types without blocks may end in a tail shorter than a step, of which
// load_tail gives n <= kLanes values. `scale` is given the step, the row's block scales (of types that keep them apart)
// and the step's first column.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/isa/simd.h"

namespace octavo::OCTAVO_ISA {

// Unpacked, in a cache; or as a file has them.
template <bool streams>
struct F32RowOf {
    static constexpr bool kStreams = streams;
    static constexpr int kStep = kLanes;
    static constexpr int kStepBytes = kLanes * 4;
    struct Scale {};
    static Scale scale(const std::byte*, const std::byte*, int64_t) { return {}; }
    static VecF load(const std::byte* step, int, Scale) {
        return OCTAVO_ISA::load(reinterpret_cast<const float*>(step));
    }
    static VecF load_tail(const std::byte* step, int n) { return load_first(reinterpret_cast<const float*>(step), n); }
};

using F32Row = F32RowOf<false>;

template <VecF (*Load)(const uint16_t*)>
struct HalfRow {
    static constexpr bool kStreams = true;
    static constexpr int kStep = kLanes;
    static constexpr int kStepBytes = kLanes * 2;
    struct Scale {};
    static Scale scale(const std::byte*, const std::byte*, int64_t) { return {}; }
    static VecF load(const std::byte* step, int, Scale) { return Load(reinterpret_cast<const uint16_t*>(step)); }
    static VecF load_tail(const std::byte* step, int n) {
        uint16_t values[kLanes] = {};
        __builtin_memcpy(values, step, static_cast<size_t>(n) * sizeof(uint16_t));
        return Load(values);
    }
};

using F16Row = HalfRow<load_f16>;
using Bf16Row = HalfRow<load_bf16>;

// Of a row of E4M3. Two vectors are converted together: loops over them are unrolled.
inline VecF e4m3_vector(const std::byte* row, int vector) {
    const auto* two = reinterpret_cast<const uint8_t*>(row) + vector / 2 * 2 * kLanes;
    return vector % 2 == 0 ? load_e4m3<0>(two) : load_e4m3<1>(two);
}

struct F8E4m3Row {
    static constexpr bool kStreams = true;
    static constexpr int kStep = 2 * kLanes;
    static constexpr int kStepBytes = 2 * kLanes;
    struct Scale {};
    static Scale scale(const std::byte*, const std::byte*, int64_t) { return {}; }
    static VecF load(const std::byte* step, int vector, Scale) { return e4m3_vector(step, vector); }
    static VecF load_tail(const std::byte* step, int n) {
        uint8_t values[2 * kLanes] = {};
        __builtin_memcpy(values, step, static_cast<size_t>(n));
        return load_e4m3<0>(values);
    }
};

// Numbers as above, float32 scales of 128 of them apart. A step is a cache line.
struct F8E4m3BlocksRow {
    static constexpr bool kStreams = true;
    static constexpr int kBlock = 128;
    static constexpr int kSharingRows = 128;  // that have the same scales
    static constexpr int kStep = 64;
    static constexpr int kStepBytes = 64;
    using Scale = VecF;
    static Scale scale(const std::byte*, const std::byte* block_scales, int64_t col) {
        float scale;
        __builtin_memcpy(&scale, block_scales + col / kBlock * static_cast<int64_t>(sizeof scale), sizeof scale);
        return set1(scale);
    }
    static VecF load(const std::byte* step, int vector, Scale scale) { return mul(e4m3_vector(step, vector), scale); }
    static VecF load_tail(const std::byte*, int) { return zero(); }  // rows are whole blocks
};

// Blocks of 32: a half-precision scale, then 32 signed bytes.
struct Q8_0Row {
    static constexpr bool kStreams = true;
    static constexpr int kStep = 32;
    static constexpr int kStepBytes = 34;
    using Scale = VecF;
    static Scale scale(const std::byte* step, const std::byte*, int64_t) {
        uint16_t half;
        __builtin_memcpy(&half, step, sizeof half);
        return broadcast_f16(half);
    }
    static VecF load(const std::byte* step, int vector, Scale scale) {
        return mul(load_i8(reinterpret_cast<const int8_t*>(step) + 2 + vector * kLanes), scale);
    }
    static VecF load_tail(const std::byte*, int) { return zero(); }  // rows are whole blocks
};

}  // namespace octavo::OCTAVO_ISA
