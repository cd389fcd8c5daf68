#include "runtime/verify/check_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/base/half.h"
#include "runtime/sampler.h"

namespace octavo {
namespace {

template <class T>
void put(std::byte*& at, T value) {
    std::memcpy(at, &value, sizeof(T));
    at += sizeof(T);
}

// Blocks of 32: a float16 scale, then 32 signed bytes.
void put_q8_0(std::byte* at, std::span<const float> values) {
    constexpr size_t kBlock = 32;
    for (size_t first = 0; first < values.size(); first += kBlock) {
        const auto block = values.subspan(first, kBlock);
        float largest = 0;
        for (const float value : block) largest = std::max(largest, std::fabs(value));
        const f16_bits scale = f32_to_f16(largest / 127);
        put(at, scale);
        const float step = f16_to_f32(scale);
        for (const float value : block)
            put(at, static_cast<int8_t>(std::clamp(std::round(value / step), -127.f, 127.f)));
    }
}

}  // namespace

std::vector<float> random_floats(size_t count, uint64_t seed, float size) {
    RandomStream random(seed);
    std::vector<float> values(count);
    for (float& value : values) value = size * static_cast<float>(2 * random.next_unit() - 1);
    return values;
}

RandomMatrix::RandomMatrix(WeightType type, int64_t rows, int64_t cols, uint64_t seed) {
    matrix_ = {type, nullptr, rows, cols};
    bytes_.resize(static_cast<size_t>(matrix_.bytes()));
    matrix_.data = bytes_.data();
    const float size = std::sqrt(3.0f / static_cast<float>(cols));
    const std::vector<float> values = random_floats(static_cast<size_t>(rows * cols), seed, size);
    std::byte* at = bytes_.data();
    switch (type) {
        case WeightType::f32:
            for (const float value : values) put(at, value);
            break;
        case WeightType::f16:
            for (const float value : values) put(at, f32_to_f16(value));
            break;
        case WeightType::bf16:
            for (const float value : values) put(at, f32_to_bf16(value));
            break;
        case WeightType::q8_0: put_q8_0(at, values); break;
    }
}

Status check_close(std::span<const float> expected, std::span<const float> actual, float tolerance) {
    float largest = 0;
    for (const float value : expected) largest = std::max(largest, std::fabs(value));
    for (size_t i = 0; i < expected.size(); ++i)
        if (!(std::fabs(actual[i] - expected[i]) <= tolerance * largest))  // not a number breaks it too
            return Error{ErrorKind::device, fmt::format("element {} is {} instead of {} (the largest is {})", i,
                                                        actual[i], expected[i], largest)};
    return {};
}

}  // namespace octavo
