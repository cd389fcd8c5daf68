#include "models/tensors/stored_rows.h"

namespace octavo {
namespace {

// Codes and scales have to agree in shape and in size.
std::optional<Matrix> nvfp4_rows(const TensorStore& store, const StoredTensor& codes) {
    const WeightTypeSpec& spec = weight_type_spec(WeightType::nvfp4_apart);
    const int index = store.find(weight_stem(codes.name) + std::string(kBlockScaleSuffix));
    if (index < 0 || codes.shape.size() != 2) return std::nullopt;
    const StoredTensor& scales = store.tensors()[static_cast<size_t>(index)];
    const int64_t rows = codes.shape[0];
    const int64_t blocks = codes.shape[1] / spec.block_bytes;
    const bool agree = codes.shape[1] % spec.block_bytes == 0 && scales.weight &&
                       scales.weight->type == WeightType::f8_e4m3 && scales.elements() == rows * blocks &&
                       codes.data.size() == static_cast<size_t>(rows * codes.shape[1]);
    if (!agree) return std::nullopt;
    return Matrix{spec.type, codes.data.data(), rows, blocks * spec.block_values, 1, scales.data.data()};
}

}  // namespace

std::string weight_stem(std::string_view name) {
    for (const std::string_view suffix : {std::string_view(".weight"), kPackedSuffix}) {
        if (name.ends_with(suffix)) return std::string(name.substr(0, name.size() - suffix.size()));
    }
    return std::string(name);
}

std::optional<Matrix> stored_rows(const TensorStore& store, const StoredTensor& tensor) {
    if (!tensor.weight) {
        return tensor.type_name == kNvfp4CodesType ? nvfp4_rows(store, tensor) : std::nullopt;
    }
    const int64_t cols = tensor.shape.empty() ? 1 : tensor.shape.back();
    return Matrix{tensor.weight->type, tensor.data.data(), cols == 0 ? 0 : tensor.elements() / cols, cols};
}

}  // namespace octavo
