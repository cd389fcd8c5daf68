// A weight matrix as it lies in a file or on a device. A view: the model owns the bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/weight_type.h"

namespace octavo {

// W[rows][cols], row-major: rows are outputs, cols are inputs; y = W x.
struct Matrix {
    WeightType type = WeightType::f32;
    const std::byte* data = nullptr;
    int64_t rows = 0;
    int64_t cols = 0;  // a multiple of the type's block_values

    int64_t row_bytes() const {
        const WeightTypeSpec& spec = weight_type_spec(type);
        return cols / spec.block_values * spec.block_bytes;
    }
    int64_t bytes() const { return rows * row_bytes(); }
    const std::byte* row(int64_t index) const { return data + index * row_bytes(); }
    Matrix slice_rows(int64_t first, int64_t count) const { return {type, row(first), count, cols}; }
};

// One feed-forward block: down( SiLU(gate x) * (up x) ).
struct FfnMatrices {
    Matrix gate;  // [ff][hidden]
    Matrix up;    // [ff][hidden]
    Matrix down;  // [hidden][ff]
};

}  // namespace octavo
