// A stored tensor as rows that can be decoded, whatever it is for: `inspect` shows tensors of models that cannot be
// run. Scales that lie in other tensors are found by name, as matrix_reader.cpp of models/hybrid lists them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/matrix.h"
#include "models/tensors/tensor_store.h"

namespace octavo {

// How safetensors stores NVFP4: codes under one of two names, their block scales beside them.
inline constexpr std::string_view kNvfp4CodesType = "U8";  // two codes a byte
inline constexpr std::string_view kPackedSuffix = ".weight_packed";
inline constexpr std::string_view kBlockScaleSuffix = ".weight_scale";

// "x" of "x.weight" and "x.weight_packed".
std::string weight_stem(std::string_view name);

struct StoredRows {
    Matrix rows;                              // outer extents make more rows
    std::unique_ptr<float[]> block_scales;    // of rows, where the file has them in another form; else nullptr
    std::vector<float> factors;               // one for each of the outermost extents; or one for all; or none
    std::vector<const StoredTensor*> scales;  // the tensors with those two
};

// ErrorKind::input where the type cannot be decoded, or scales do not fit it.
Result<StoredRows> stored_rows(const TensorStore& store, const StoredTensor& tensor);

// Every value, scales and all: values[rows * cols].
void decode(const StoredRows& stored, float* values);

}  // namespace octavo
