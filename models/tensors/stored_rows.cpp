#include "models/tensors/stored_rows.h"

#include <fmt/format.h>

#include <cmath>

#include "models/tensors/quote_name.h"

namespace octavo {
namespace {

template <class... Args>
Error bad(fmt::format_string<Args...> format, Args&&... args) {
    return {ErrorKind::input, fmt::format(format, std::forward<Args>(args)...)};
}

const StoredTensor* find(const TensorStore& store, const std::string& name) {
    const int index = store.find(name);
    return index < 0 ? nullptr : &store.tensors()[static_cast<size_t>(index)];
}

// What the tensors beside one are held against.
class RowsBuilder {
  public:
    RowsBuilder(const TensorStore& store, const StoredTensor& tensor)
        : store_(store), tensor_(tensor), stem_(weight_stem(tensor.name)) {}

    Result<StoredRows> build() {
        if (Status status = tensor_.weight ? plain() : nvfp4(); !status) return status.error();
        return std::move(stored_);
    }

  private:
    Status plain() {
        const int64_t cols = tensor_.shape.empty() ? 1 : tensor_.shape.back();
        stored_.rows = {tensor_.weight->type, tensor_.data.data(), cols == 0 ? 0 : tensor_.elements() / cols, cols};
        if (stem_ == tensor_.name) return {};
        if (tensor_.weight->type != WeightType::f8_e4m3) return add_factors(".scale", false);
        if (const StoredTensor* scales = find(store_, stem_ + ".weight_scale_inv")) return add_fp8_blocks(*scales);
        return add_factors(kBlockScaleSuffix, false);
    }

    // Codes and scales have to agree in shape and in size.
    Status nvfp4() {
        const WeightTypeSpec& spec = weight_type_spec(WeightType::nvfp4_apart);
        const StoredTensor* scales = find(store_, stem_ + std::string(kBlockScaleSuffix));
        if (tensor_.type_name != kNvfp4CodesType || !scales || tensor_.shape.size() != 2) {
            return bad("Tensor {} has the type {}, which this version cannot decode.", quote_name(tensor_.name),
                       tensor_.type_name);
        }
        const int64_t rows = tensor_.shape[0];
        const int64_t blocks = tensor_.shape[1] / spec.block_bytes;
        const bool agree = tensor_.shape[1] % spec.block_bytes == 0 && scales->weight &&
                           scales->weight->type == WeightType::f8_e4m3 && scales->elements() == rows * blocks &&
                           tensor_.data.size() == static_cast<size_t>(rows * tensor_.shape[1]);
        if (!agree) return does_not_fit(*scales);
        stored_.rows = {spec.type, tensor_.data.data(), rows, blocks * spec.block_values, 1, scales->data.data()};
        stored_.scales.push_back(scales);
        return tensor_.name.ends_with(kPackedSuffix) ? add_factors(".weight_global_scale", true)
                                                     : add_factors(".weight_scale_2", false);
    }

    Status add_fp8_blocks(const StoredTensor& scales) {
        Matrix& rows = stored_.rows;
        rows.type = WeightType::f8_e4m3_blocks;
        const bool agree = rows.cols % weight_type_spec(rows.type).block_values == 0 && holds_numbers(scales) &&
                           scales.elements() == rows.scale_rows() * rows.row_blocks();
        if (!agree) return does_not_fit(scales);
        stored_.block_scales = std::make_unique<float[]>(static_cast<size_t>(scales.elements()));
        scales.weight->decode(scales.data.data(), scales.elements(), stored_.block_scales.get());
        rows.block_scales = reinterpret_cast<const std::byte*>(stored_.block_scales.get());
        stored_.scales.push_back(&scales);
        return {};
    }

    // One for the whole, or one for each of the outermost extents, which are experts or rows; where a file has them.
    Status add_factors(std::string_view suffix, bool divide) {
        const StoredTensor* factors = find(store_, stem_ + std::string(suffix));
        if (!factors) return {};
        const int64_t count = factors->elements();
        const bool one_each = !tensor_.shape.empty() && count > 0 && count == tensor_.shape[0];
        if (!holds_numbers(*factors) || !(count == 1 || one_each)) return does_not_fit(*factors);
        stored_.factors.resize(static_cast<size_t>(count));
        factors->weight->decode(factors->data.data(), count, stored_.factors.data());
        for (float& factor : stored_.factors) {
            if (!std::isfinite(factor) || (divide && factor == 0)) return does_not_fit(*factors);
            if (divide) factor = 1 / factor;
        }
        stored_.scales.push_back(factors);
        return {};
    }

    static bool holds_numbers(const StoredTensor& tensor) { return tensor.weight && tensor.weight->block_values == 1; }

    Error does_not_fit(const StoredTensor& scales) const {
        return bad("Tensor {} ({} {}) cannot be decoded with the scales beside it: {} ({} {}) does not fit it.",
                   quote_name(tensor_.name), tensor_.type_name, shape_text(tensor_.shape), quote_name(scales.name),
                   scales.type_name, shape_text(scales.shape));
    }

    const TensorStore& store_;
    const StoredTensor& tensor_;
    std::string stem_;
    StoredRows stored_;
};

}  // namespace

std::string weight_stem(std::string_view name) {
    for (const std::string_view suffix : {std::string_view(".weight"), kPackedSuffix}) {
        if (name.ends_with(suffix)) return std::string(name.substr(0, name.size() - suffix.size()));
    }
    return std::string(name);
}

Result<StoredRows> stored_rows(const TensorStore& store, const StoredTensor& tensor) {
    return RowsBuilder(store, tensor).build();
}

void decode(const StoredRows& stored, float* values) {
    const Matrix& rows = stored.rows;
    rows.decode_rows(0, rows.rows, values);
    if (stored.factors.empty()) return;
    const int64_t count = rows.rows * rows.cols / static_cast<int64_t>(stored.factors.size());
    for (const float factor : stored.factors) {
        for (int64_t i = 0; i < count; ++i) values[i] *= factor;
        values += count;
    }
}

}  // namespace octavo
