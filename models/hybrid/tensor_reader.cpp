#include "models/hybrid/tensor_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/tensors/quote_name.h"

namespace octavo {
namespace {

template <class... Args>
Error bad(fmt::format_string<Args...> format, Args&&... args) {
    return {ErrorKind::input, fmt::format(format, std::forward<Args>(args)...)};
}

std::vector<int64_t> without_ones(std::span<const int64_t> shape) {
    std::vector<int64_t> kept;
    std::copy_if(shape.begin(), shape.end(), std::back_inserter(kept), [](int64_t extent) { return extent != 1; });
    return kept;
}

bool plain_floats(const StoredTensor& tensor) {
    if (!tensor.weight) return false;
    const WeightType type = tensor.weight->type;
    return type == WeightType::f32 || type == WeightType::f16 || type == WeightType::bf16;
}

}  // namespace

const StoredTensor* TensorReader::find(std::string_view name, std::span<const int64_t> shape) {
    if (error_) return nullptr;
    const int index = store_.find(name);
    if (index < 0) {
        fail(bad("tensor {} is missing; the file is incomplete", quote_name(name)));
        return nullptr;
    }
    const StoredTensor& tensor = store_.tensors()[static_cast<size_t>(index)];
    if (without_ones(tensor.shape) != without_ones(shape)) {
        fail(bad("tensor {} has shape {}; expected {} by the sizes in the metadata", quote_name(name),
                 shape_text(tensor.shape), shape_text(shape)));
        return nullptr;
    }
    return &tensor;
}

const StoredTensor* TensorReader::take(std::string_view name, std::span<const int64_t> shape) {
    const StoredTensor* tensor = find(name, shape);
    if (!tensor) return nullptr;
    if (!tensor->weight) {
        fail(bad("tensor {} has type {}, which is not supported yet", quote_name(name), tensor->type_name));
        return nullptr;
    }
    mark(*tensor, tensor->elements(), tensor->type_name);
    return tensor;
}

void TensorReader::mark(const StoredTensor& tensor, int64_t parameters, std::string_view type) {
    uses_[static_cast<size_t>(&tensor - store_.tensors().data())] = {true, parameters, std::string(type)};
}

const float* TensorReader::floats(std::string_view name, std::vector<int64_t> shape, Transform transform,
                                  int64_t copies) {
    const StoredTensor* tensor = take(name, shape);
    if (!tensor) return nullptr;
    if (!plain_floats(*tensor)) {
        fail(bad("tensor {} has type {}; expected F32, F16 or BF16", quote_name(name), tensor->type_name));
        return nullptr;
    }
    const int64_t count = tensor->elements();
    Result<Buffer> buffer = Buffer::allocate(static_cast<size_t>(count * copies) * sizeof(float), "small weights");
    if (!buffer) {
        fail(buffer.error());
        return nullptr;
    }
    float* values = buffer->as<float>();
    tensor->weight->decode(tensor->data.data(), count, values);
    if (transform) std::transform(values, values + count, values, transform);
    if (!std::all_of(values, values + count, [](float value) { return std::isfinite(value); })) {
        fail(bad("tensor {} holds values that are not finite numbers", quote_name(name)));
        return nullptr;
    }
    for (int64_t copy = 1; copy < copies; ++copy) std::copy_n(values, count, values + copy * count);
    arena_.push_back(std::move(*buffer));
    return values;
}

}  // namespace octavo
