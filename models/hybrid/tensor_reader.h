// Takes tensors out of a checkpoint by name with exact shapes, and remembers which were taken.
//
// Errors: the first one is kept, named by tensor; afterwards every call gives an empty result, so that a builder can
// be written as a plain list. Threads: one at a time. Private to models/hybrid.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/buffer.h"
#include "kernels/base/error.h"
#include "kernels/matrix.h"
#include "models/tensors/tensor_store.h"

namespace octavo {

// Small vectors; they live as long as the arena.
using SmallArena = std::vector<Buffer>;

class TensorReader {
  public:
    using Transform = float (*)(float);

    TensorReader(const TensorStore& store, SmallArena& arena)
        : store_(store), arena_(arena), uses_(store.tensors().size()) {}

    bool has(std::string_view name) const { return store_.find(name) >= 0; }
    const std::optional<Error>& error() const { return error_; }
    void fail(Error error) {
        if (!error_) error_ = std::move(error);
    }

    // matrix_reader.cpp. `name` ends in ".weight" in all formats; the scales that belong to it are found by it.
    bool has_matrix(std::string_view name) const;
    // W[rows][cols] of any decodable type.
    Matrix matrix(std::string_view name, int64_t rows, int64_t cols);
    // [count][rows][cols] as `count` matrices; empty after an error.
    std::vector<Matrix> stack(std::string_view name, int64_t count, int64_t rows, int64_t cols);

    // Decoded to float32, `transform`ed where given, then repeated `copies` times. Refuses values that are not finite.
    const float* floats(std::string_view name, std::vector<int64_t> shape, Transform transform = nullptr,
                        int64_t copies = 1);

    // A copy of `values` in the arena; empty after an error.
    std::span<const int32_t> keep(std::span<const int32_t> values) { return keep_copy(values); }
    std::span<const float> keep(std::span<const float> values) { return keep_copy(values); }

    // What became of a tensor of the store.
    struct Use {
        bool taken = false;
        int64_t parameters = 0;  // weights of the model in it; scales are none
        std::string type;        // of the weights, for people
    };
    const Use& use(size_t index) const { return uses_[index]; }

  private:
    // Shapes are compared without extents of 1, which formats write or leave out as they like. nullptr after an error.
    const StoredTensor* find(std::string_view name, std::span<const int64_t> shape);
    // The same, of a type that can be decoded; counted as taken.
    const StoredTensor* take(std::string_view name, std::span<const int64_t> shape);
    void mark(const StoredTensor& tensor, int64_t parameters, std::string_view type);
    template <class Value>
    std::span<const Value> keep_copy(std::span<const Value> values);

    // matrix_reader.cpp
    Matrix as_matrix(const StoredTensor* tensor, int64_t rows, int64_t cols);
    Matrix nvfp4(const std::string& codes, const std::string& stem, bool global_divides, int64_t rows, int64_t cols);
    // FP8 weights with the scales of their blocks.
    Matrix in_blocks(Matrix w, const std::string& scales_name);
    // Finite factors; empty after an error.
    std::vector<float> factors(const std::string& name, int64_t count);
    float factor(const std::string& name);

    const TensorStore& store_;
    SmallArena& arena_;
    std::vector<Use> uses_;
    std::optional<Error> error_;
};

template <class Value>
std::span<const Value> TensorReader::keep_copy(std::span<const Value> values) {
    Result<Buffer> buffer = Buffer::allocate(values.size_bytes(), "small tables");
    if (!buffer) {
        fail(buffer.error());
        return {};
    }
    auto* const copy = buffer->as<Value>();
    std::copy(values.begin(), values.end(), copy);
    arena_.push_back(std::move(*buffer));
    return {copy, values.size()};
}

}  // namespace octavo
