// The part of TensorReader that knows how files store matrices, and which scales stand beside them. "x" is the name
// without ".weight":
//   any format: x.weight of a type that holds its own scales, or none
//   GGUF: x.scale, F32, multiplies the products: one number, or one for each of stacked experts
//   FP8 (safetensors): x.weight F8_E4M3; x.weight_scale, one number, multiplies
//   FP8 in blocks (safetensors): x.weight F8_E4M3; x.weight_scale_inv, a number for 128 x 128 weights, multiplies (the
//      only scales that are copied, for they are few and may be BF16)
//   NVFP4 of modelopt: x.weight U8 [rows][cols / 2], two codes a byte; x.weight_scale F8_E4M3 [rows][cols / 16];
//      x.weight_scale_2, one number, multiplies
//   NVFP4 of compressed-tensors: x.weight_packed, x.weight_scale likewise; x.weight_global_scale, one number, divides
// Nothing else is copied or laid out anew: a Matrix points at codes and scales where they lie in the file.
// Source: the formats' published descriptions; model_spec section 9.4.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/hybrid/tensor_reader.h"
#include "models/tensors/quote_name.h"
#include "models/tensors/stored_rows.h"

namespace octavo {
namespace {

template <class... Args>
Error bad(fmt::format_string<Args...> format, Args&&... args) {
    return {ErrorKind::input, fmt::format(format, std::forward<Args>(args)...)};
}

std::string packed_name(const std::string& stem) { return stem + std::string(kPackedSuffix); }
std::string scale_name(const std::string& stem) { return stem + std::string(kBlockScaleSuffix); }

}  // namespace

bool TensorReader::has_matrix(std::string_view name) const { return has(name) || has(packed_name(weight_stem(name))); }

std::vector<float> TensorReader::factors(const std::string& name, int64_t count) {
    const int64_t shape[] = {count};
    const StoredTensor* tensor = take(name, shape);
    if (!tensor) return {};
    std::vector<float> values(static_cast<size_t>(count));
    if (tensor->weight->block_values != 1) {
        fail(bad("tensor {} has type {}; expected F32, F16 or BF16", quote_name(name), tensor->type_name));
        return {};
    }
    tensor->weight->decode(tensor->data.data(), count, values.data());
    if (!std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); })) {
        fail(bad("tensor {} holds values that are not finite numbers", quote_name(name)));
        return {};
    }
    mark(*tensor, 0, tensor->type_name);
    return values;
}

float TensorReader::factor(const std::string& name) {
    const std::vector<float> values = factors(name, 1);
    return values.empty() ? 1.0f : values[0];
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

Matrix TensorReader::nvfp4(const std::string& codes_name, const std::string& stem, bool global_divides, int64_t rows,
                           int64_t cols) {
    const WeightTypeSpec& spec = weight_type_spec(WeightType::nvfp4_apart);
    if (cols % spec.block_values != 0) {
        fail(bad("tensor {} has rows of {} values, not a multiple of the {} values that share a scale",
                 quote_name(codes_name), cols, spec.block_values));
        return {};
    }
    const int64_t blocks = cols / spec.block_values;
    const int64_t code_shape[] = {rows, blocks * spec.block_bytes};
    const StoredTensor* codes = find(codes_name, code_shape);
    if (!codes) return {};
    if (codes->type_name != kNvfp4CodesType || codes->data.size() != static_cast<size_t>(rows * code_shape[1])) {
        fail(bad("tensor {} has type {}; expected {}, two 4-bit codes a byte", quote_name(codes_name), codes->type_name,
                 kNvfp4CodesType));
        return {};
    }
    const std::string scales_name = scale_name(stem);
    const int64_t scale_shape[] = {rows, blocks};
    const StoredTensor* scales = take(scales_name, scale_shape);
    if (!scales) return {};
    if (scales->weight->type != WeightType::f8_e4m3) {
        fail(bad("tensor {} has type {}; expected F8_E4M3, one scale for {} values", quote_name(scales_name),
                 scales->type_name, spec.block_values));
        return {};
    }
    const std::string global_name = stem + (global_divides ? ".weight_global_scale" : ".weight_scale_2");
    float global = factor(global_name);
    if (global_divides) {
        if (global == 0) fail(bad("tensor {} is zero, and would be divided by", quote_name(global_name)));
        global = 1 / global;
    }
    if (error_) return {};
    mark(*codes, rows * cols, "NVFP4");
    mark(*scales, 0, "NVFP4");
    return {spec.type, codes->data.data(), rows, cols, global, scales->data.data()};
}

Matrix TensorReader::in_blocks(Matrix w, const std::string& scales_name) {
    const WeightTypeSpec& spec = weight_type_spec(WeightType::f8_e4m3_blocks);
    if (w.cols % spec.block_values != 0) {
        fail(bad("tensor {} belongs to rows of {} weights, not a multiple of the {} that share a scale",
                 quote_name(scales_name), w.cols, spec.block_values));
        return {};
    }
    w.type = spec.type;
    const std::vector<int64_t> shape = {w.scale_rows(), w.row_blocks()};
    w.block_scales = reinterpret_cast<const std::byte*>(floats(scales_name, shape));
    if (error_) return {};
    mark(store_.tensors()[static_cast<size_t>(store_.find(scales_name))], 0, "F8_E4M3");
    return w;
}

Matrix TensorReader::matrix(std::string_view name, int64_t rows, int64_t cols) {
    const std::string stem = weight_stem(name);
    if (const std::string packed = packed_name(stem); has(packed)) return nvfp4(packed, stem, true, rows, cols);
    const int index = store_.find(name);
    if (index >= 0 && store_.tensors()[static_cast<size_t>(index)].type_name == kNvfp4CodesType) {
        return nvfp4(std::string(name), stem, false, rows, cols);
    }
    const int64_t shape[] = {rows, cols};
    Matrix w = as_matrix(take(name, shape), rows, cols);
    if (w.type == WeightType::f8_e4m3) {
        if (const std::string blocks = stem + ".weight_scale_inv"; has(blocks)) return in_blocks(w, blocks);
        w.scale = factor(scale_name(stem));
    } else if (const std::string scale = stem + ".scale"; has(scale)) {
        w.scale = factor(scale);
    }
    return w;
}

std::vector<Matrix> TensorReader::stack(std::string_view name, int64_t count, int64_t rows, int64_t cols) {
    const int64_t shape[] = {count, rows, cols};
    const Matrix all = as_matrix(take(name, shape), count * rows, cols);
    const std::string beside = weight_stem(name) + ".scale";
    const bool scaled = has(beside);
    const std::vector<float> scales = scaled ? factors(beside, count) : std::vector<float>();
    if (all.type == WeightType::f8_e4m3) {
        fail(bad("tensor {} stacks experts in F8_E4M3; only one tensor an expert is supported", quote_name(name)));
    }
    std::vector<Matrix> matrices;
    for (int64_t i = 0; i < count && !error_; ++i) {
        matrices.push_back(all.slice_rows(i * rows, rows));
        if (scaled) matrices.back().scale = scales[static_cast<size_t>(i)];
    }
    return matrices;
}

}  // namespace octavo
