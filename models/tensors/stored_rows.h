// A stored tensor as rows that can be decoded.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kernels/matrix.h"
#include "models/tensors/tensor_store.h"

namespace octavo {

// How safetensors stores NVFP4: codes under one of two names, their block scales beside them.
inline constexpr std::string_view kNvfp4CodesType = "U8";  // two codes a byte
inline constexpr std::string_view kPackedSuffix = ".weight_packed";
inline constexpr std::string_view kBlockScaleSuffix = ".weight_scale";

// "x" of "x.weight" and "x.weight_packed".
std::string weight_stem(std::string_view name);

// No value where the type cannot be decoded. Block scales that lie in another tensor are found in `store`; factors of
// whole tensors are not looked for. The shape's last extent is `cols`.
std::optional<Matrix> stored_rows(const TensorStore& store, const StoredTensor& tensor);

}  // namespace octavo
