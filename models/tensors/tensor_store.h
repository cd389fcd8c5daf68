// The tensors of a checkpoint as both readers describe them: name, shape, type and bytes, in one or several files.
//
// Errors: `add` refuses duplicate names. Threads: immutable once filled, then shared freely.
// Non-goals: no conversion, no copy; the files that the views point into must outlive the store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/weight_type.h"

namespace octavo {

struct StoredTensor {
    std::string name;
    std::string type_name;                   // as the file calls it: "Q4_K", "BF16"
    const WeightTypeSpec* weight = nullptr;  // nullptr: this build cannot decode the type
    std::vector<int64_t> shape;              // outermost first: [rows][cols]; cols are contiguous
    std::span<const std::byte> data;

    int64_t elements() const {
        int64_t count = 1;
        for (const int64_t extent : shape) count *= extent;
        return count;
    }
};

std::string shape_text(std::span<const int64_t> shape);  // "[2048][512]"

class TensorStore {
  public:
    Status add(std::vector<StoredTensor> tensors);

    // Index into `tensors()`, or -1.
    int find(std::string_view name) const;
    std::span<const StoredTensor> tensors() const { return tensors_; }

  private:
    // The slot of `name`, or a free one for it.
    size_t slot(std::string_view name) const;
    void grow(size_t tensors);

    std::vector<StoredTensor> tensors_;
    std::vector<int32_t> slots_;  // hash table of places in tensors_, -1: free; a power of two, half of it free
};

}  // namespace octavo
