// Arrays in a back end's memory that a test fills, and frees all at once.
#pragma once

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "kernels/backend.h"
#include "tests/support/inputs.h"

namespace octavo::test {

class DeviceArrays {
  public:
    explicit DeviceArrays(Memory& memory) : memory_(memory) {}

    std::byte* take(int64_t bytes) {
        if (bytes == 0) return nullptr;
        Result<Buffer> buffer = memory_.allocate(static_cast<size_t>(bytes), "a test");
        EXPECT_TRUE(buffer);
        buffers_.push_back(std::move(*buffer));
        return buffers_.back().data();
    }
    // Gaussian values [count].
    float* floats(int64_t count, uint64_t seed) {
        auto* const to = reinterpret_cast<float*>(take(count * static_cast<int64_t>(sizeof(float))));
        fill(to, count, seed);
        return to;
    }
    void fill(float* to, int64_t count, uint64_t seed) {
        const std::vector<float> values = make_input(InputFamily::gaussian, count, seed);
        memory_.upload(to, values.data(), values.size() * sizeof(float));
    }
    std::vector<float> values(const float* from, int64_t count) const {
        std::vector<float> values(static_cast<size_t>(count));
        memory_.download(values.data(), from, values.size() * sizeof(float));
        return values;
    }

  private:
    Memory& memory_;
    std::vector<Buffer> buffers_;
};

}  // namespace octavo::test
