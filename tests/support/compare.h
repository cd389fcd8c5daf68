// Comparison of arrays whose failure message says where: position by named dimensions, both values, the bound.
#pragma once

#include <gtest/gtest.h>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace octavo::test {

struct Dimension {
    std::string_view name;
    int64_t size;
};

// |got - want| <= bound, value by value. NaN matches nothing; an infinity only itself.
// `dimensions` is the arrays' shape, outermost first; reported is the value furthest beyond its bound.
testing::AssertionResult within_bounds(std::span<const float> got, std::span<const float> want,
                                       std::span<const double> bounds, const std::vector<Dimension>& dimensions);

// The same with one bound for all.
testing::AssertionResult within(std::span<const float> got, std::span<const float> want, double bound,
                                const std::vector<Dimension>& dimensions);

// Bit for bit, so that 0 and -0 differ.
testing::AssertionResult same_bits(std::span<const float> got, std::span<const float> want,
                                   const std::vector<Dimension>& dimensions);

}  // namespace octavo::test
