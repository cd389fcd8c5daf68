// NumPy .npy files: float32 arrays are written (version 1.0, little-endian, C order); float32 and float16 are read.
//
// Source: the NPY format description of NumPy. Non-goals: other types, Fortran order, headers beyond 64 KiB.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "kernels/base/error.h"

namespace octavo {

// Whether the file can be written, and is new, empty or an array already. Call it before the work starts.
Status check_npy_target(const std::filesystem::path& path);

// `values` has the product of `shape` elements, last dimension fastest.
Status write_npy(const std::filesystem::path& path, const std::vector<int64_t>& shape, std::span<const float> values);

struct NpyFloats {
    std::vector<int64_t> shape;
    std::vector<float> values;  // C order
};

// ErrorKind::io, or input with what is wrong with the file.
Result<NpyFloats> read_npy(const std::filesystem::path& path);

}  // namespace octavo
