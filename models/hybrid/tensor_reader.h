// Takes tensors out of a checkpoint by name with exact shapes, and remembers which were taken.
//
// Errors: the first one is kept, named by tensor; afterwards every call gives an empty result, so that a builder can
// be written as a plain list. Threads: one at a time. Private to models/hybrid.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
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
        : store_(store), arena_(arena), taken_(store.tensors().size(), false) {}

    bool has(std::string_view name) const { return store_.find(name) >= 0; }
    const std::optional<Error>& error() const { return error_; }
    void fail(Error error) {
        if (!error_) error_ = std::move(error);
    }

    // W[rows][cols] of any decodable type.
    Matrix matrix(std::string_view name, int64_t rows, int64_t cols);
    // [count][rows][cols] as one matrix of count * rows rows.
    Matrix stack(std::string_view name, int64_t count, int64_t rows, int64_t cols);
    // Decoded to float32, `transform`ed where given, then repeated `copies` times. Refuses values that are not finite.
    const float* floats(std::string_view name, std::vector<int64_t> shape, Transform transform = nullptr,
                        int64_t copies = 1);

    // A copy of `values` in the arena.
    std::span<const int32_t> keep(std::span<const int32_t> values);

    bool taken(size_t index) const { return taken_[index]; }

  private:
    // Shapes are compared without extents of 1, which formats write or leave out as they like.
    const StoredTensor* take(std::string_view name, std::span<const int64_t> shape);
    Matrix as_matrix(const StoredTensor* tensor, int64_t rows, int64_t cols);

    const TensorStore& store_;
    SmallArena& arena_;
    std::vector<bool> taken_;
    std::optional<Error> error_;
};

}  // namespace octavo
