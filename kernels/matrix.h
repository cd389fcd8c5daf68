// A weight matrix as it lies in a file or on a device. A view: the model owns the bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/weight_type.h"

namespace octavo {

// W[rows][cols], row-major: rows are outputs, cols are inputs; y = scale * W x. Values of W decode without `scale`.
struct Matrix {
    WeightType type = WeightType::f32;
    const std::byte* data = nullptr;  // [rows][row_bytes]
    int64_t rows = 0;
    int64_t cols = 0;                         // a multiple of the type's block_values
    float scale = 1;                          // of the whole matrix, where a file stores one beside it
    const std::byte* block_scales = nullptr;  // [scale_rows()][scale_row_bytes], of types that keep them apart

    int64_t row_blocks() const { return cols / weight_type_spec(type).block_values; }
    int64_t row_bytes() const { return row_blocks() * weight_type_spec(type).block_bytes; }
    int64_t scale_row_bytes() const { return row_blocks() * weight_type_spec(type).scale_bytes; }
    int64_t bytes() const { return rows * row_bytes(); }
    // Rows of block scales; some types have one for many rows.
    int64_t scale_rows() const {
        const int64_t shared = weight_type_spec(type).scale_rows;
        return (rows + shared - 1) / shared;
    }
    const std::byte* scale_row(int64_t index) const {
        return block_scales + index / weight_type_spec(type).scale_rows * scale_row_bytes();
    }
    int64_t scale_bytes() const { return scale_rows() * scale_row_bytes(); }
    const std::byte* row(int64_t index) const { return data + index * row_bytes(); }

    // `first`: of a row that does not share its block scales with the one before.
    Matrix slice_rows(int64_t first, int64_t count) const {
        Matrix slice = *this;
        slice.data = row(first);
        slice.rows = count;
        if (block_scales != nullptr) slice.block_scales = scale_row(first);
        return slice;
    }
    // Rows from `first` on as float32, without `scale`: values[count][cols].
    void decode_rows(int64_t first, int64_t count, float* values) const {
        const WeightTypeSpec& spec = weight_type_spec(type);
        if (spec.scale_bytes == 0) return spec.decode(row(first), count * row_blocks(), values);
        for (int64_t r = first; r < first + count; ++r, values += cols)
            spec.decode_apart(row(r), scale_row(r), row_blocks(), values);
    }
};

// One feed-forward block: down( SiLU(gate x) * (up x) ).
struct FfnMatrices {
    Matrix gate;  // [ff][hidden]
    Matrix up;    // [ff][hidden]
    Matrix down;  // [hidden][ff]

    // Whether its values lie elsewhere, and these matrices only tell its shape.
    bool absent() const { return gate.data == nullptr; }
};

}  // namespace octavo
