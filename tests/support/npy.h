// Reader of NumPy arrays (.npy) and archives of them (.npz), for comparison with values that other programs computed.
// C order, little-endian; float32, float16 (widened) and int32. Not a general ZIP reader: no ZIP64, no encryption.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "kernels/base/error.h"

namespace octavo::test {

struct NpyArray {
    std::vector<int64_t> shape;
    std::vector<float> floats;  // filled for floating types
    std::vector<int32_t> ints;  // filled for int32
};

Result<NpyArray> parse_npy(std::span<const std::byte> bytes);
Result<NpyArray> read_npy(const std::filesystem::path& path);

// By name without ".npy". Members may be stored or deflated.
Result<std::map<std::string, NpyArray>> read_npz(const std::filesystem::path& path);

}  // namespace octavo::test
