// Random bytes that decode to weights of a wanted size, for every weight type: code bits are drawn, the fields that
// hold scales are set so that the values have mean 0 (nearly, where a type's codes are lopsided) and the wanted
// standard deviation. Plain floats are bell-shaped; codes are even.
//
// Threads: `fill` is const and may run anywhere; a RandomStream belongs to one thread.
// Source: GGUF v3 block layouts, as kernels/reference/weight_decode decodes them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/base/random_stream.h"
#include "kernels/weight_type.h"

namespace octavo {

// Whether RandomBlocks knows the type's layout.
bool can_fill(const WeightTypeSpec& spec);

class RandomBlocks {
  public:
    // can_fill(spec) holds. `deviation` above 0.
    RandomBlocks(const WeightTypeSpec& spec, float deviation);

    // Whole blocks, one after the other.
    void fill(std::span<std::byte> blocks, RandomStream& random) const;

  private:
    void fill_floats(std::span<std::byte> values, RandomStream& random) const;
    void fill_codes(std::span<std::byte> blocks, float scale, RandomStream& random) const;

    const WeightTypeSpec* spec_;
    float scale_ = 1;
    std::vector<std::byte> floats_;  // plain floats: encoded values to draw from, kFloats of them
};

}  // namespace octavo
