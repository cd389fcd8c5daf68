// How the values of a weight row are read as float32 vectors, one struct per weight type. Every value is exact: the
// product of an 8-bit code and a half-precision scale fits a float32.
//
// A row is read in steps of kStep values; types without blocks may end in a tail shorter than a step.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/isa/simd.h"

namespace octavo::OCTAVO_ISA {

struct F32Row {
    static constexpr bool kStreams = false;
    static constexpr int kStep = kLanes;
    static constexpr int kStepBytes = kLanes * 4;
    struct Scale {};
    static Scale scale(const std::byte*) { return {}; }
    static VecF load(const std::byte* step, int, Scale) {
        return OCTAVO_ISA::load(reinterpret_cast<const float*>(step));
    }
    static VecF load_tail(const std::byte* step, int n) { return load_first(reinterpret_cast<const float*>(step), n); }
};

template <VecF (*Load)(const uint16_t*)>
struct HalfRow {
    static constexpr bool kStreams = true;
    static constexpr int kStep = kLanes;
    static constexpr int kStepBytes = kLanes * 2;
    struct Scale {};
    static Scale scale(const std::byte*) { return {}; }
    static VecF load(const std::byte* step, int, Scale) { return Load(reinterpret_cast<const uint16_t*>(step)); }
    static VecF load_tail(const std::byte* step, int n) {
        uint16_t values[kLanes] = {};
        __builtin_memcpy(values, step, static_cast<size_t>(n) * sizeof(uint16_t));
        return Load(values);
    }
};

using F16Row = HalfRow<load_f16>;
using Bf16Row = HalfRow<load_bf16>;

struct F8E4m3Row {
    static constexpr bool kStreams = true;
    static constexpr int kStep = kLanes;
    static constexpr int kStepBytes = kLanes;
    struct Scale {};
    static Scale scale(const std::byte*) { return {}; }
    static VecF load(const std::byte* step, int, Scale) { return load_e4m3(reinterpret_cast<const uint8_t*>(step)); }
    static VecF load_tail(const std::byte* step, int n) {
        uint8_t values[kLanes] = {};
        __builtin_memcpy(values, step, static_cast<size_t>(n));
        return load_e4m3(values);
    }
};

// Blocks of 32: a half-precision scale, then 32 signed bytes.
struct Q8_0Row {
    static constexpr bool kStreams = true;
    static constexpr int kStep = 32;
    static constexpr int kStepBytes = 34;
    using Scale = VecF;
    static Scale scale(const std::byte* step) {
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
