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

bool plain_floats(const StoredTensor& tensor) { return tensor.weight && tensor.weight->block_values == 1; }

}  // namespace

const StoredTensor* TensorReader::take(std::string_view name, std::span<const int64_t> shape) {
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
    if (!tensor.weight) {
        fail(bad("tensor {} has type {}, which is not supported yet", quote_name(name), tensor.type_name));
        return nullptr;
    }
    taken_[static_cast<size_t>(index)] = true;
    return &tensor;
}

Matrix TensorReader::as_matrix(const StoredTensor* tensor, int64_t rows, int64_t cols) {
    if (!tensor) return {};
    const WeightTypeSpec& spec = *tensor->weight;
    if (cols % spec.block_values != 0) {
        fail(bad("tensor {} has rows of {} values, not a multiple of the {} values of a {} block",
                 quote_name(tensor->name), cols, spec.block_values, spec.name));
        return {};
    }
    const auto address = reinterpret_cast<uintptr_t>(tensor->data.data());
    if (spec.block_values == 1 && address % static_cast<uintptr_t>(spec.block_bytes) != 0) {
        fail(
            bad("tensor {} does not start at a multiple of {} bytes; save the checkpoint again with a current version "
                "of its tool",
                quote_name(tensor->name), spec.block_bytes));
        return {};
    }
    return {spec.type, tensor->data.data(), rows, cols};
}

Matrix TensorReader::matrix(std::string_view name, int64_t rows, int64_t cols) {
    const int64_t shape[] = {rows, cols};
    return as_matrix(take(name, shape), rows, cols);
}

Matrix TensorReader::stack(std::string_view name, int64_t count, int64_t rows, int64_t cols) {
    const int64_t shape[] = {count, rows, cols};
    return as_matrix(take(name, shape), count * rows, cols);
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

std::span<const int32_t> TensorReader::keep(std::span<const int32_t> values) {
    Result<Buffer> buffer = Buffer::allocate(values.size_bytes(), "small tables");
    if (!buffer) {
        fail(buffer.error());
        return {};
    }
    int32_t* copy = buffer->as<int32_t>();
    std::copy(values.begin(), values.end(), copy);
    arena_.push_back(std::move(*buffer));
    return {copy, values.size()};
}

}  // namespace octavo
