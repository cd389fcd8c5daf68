// Writes float32 arrays as NumPy .npy files (version 1.0, little-endian, C order).
//
// Source: the NPY format description of NumPy. Non-goals: other types, reading.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "kernels/base/error.h"

namespace octavo {

// `values` has the product of `shape` elements, last dimension fastest.
Status write_npy(const std::filesystem::path& path, const std::vector<int64_t>& shape, std::span<const float> values);

}  // namespace octavo
