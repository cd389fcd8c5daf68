#include "tests/support/inputs.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/base/float8.h"
#include "kernels/base/half.h"
#include "kernels/random_weights.h"
#include "tests/support/random.h"

namespace octavo::test {
namespace {

struct Family {
    InputFamily family;
    std::string_view name;
    float (*value)(int64_t index, int64_t count, Random& random);
};

constexpr Family kFamilies[] = {
    {InputFamily::flat, "flat", [](int64_t, int64_t, Random&) { return 0.375f; }},
    {InputFamily::ramp, "ramp",
     [](int64_t index, int64_t count, Random&) {
         return count < 2 ? 1.0f : 2.0f * static_cast<float>(index) / static_cast<float>(count - 1) - 1.0f;
     }},
    {InputFamily::outliers, "outliers",
     [](int64_t, int64_t, Random& random) {
         const float factor = random.below(50) == 0 ? 10.0f : 0.1f;
         return factor * random.gaussian();
     }},
    {InputFamily::gaussian, "gaussian", [](int64_t, int64_t, Random& random) { return random.gaussian(); }},
    {InputFamily::denormal, "denormal", [](int64_t, int64_t, Random& random) { return random.gaussian() * 0x1p-132f; }},
    {InputFamily::zero, "zero", [](int64_t, int64_t, Random&) { return 0.0f; }},
    {InputFamily::one_huge, "one huge value",
     [](int64_t index, int64_t count, Random& random) { return index == count / 3 ? 30000.0f : random.gaussian(); }},
};

template <class Value>
void append(std::vector<std::byte>& bytes, Value value) {
    const size_t size = bytes.size();
    bytes.resize(size + sizeof value);
    std::memcpy(&bytes[size], &value, sizeof value);
}

void append_q8_0(std::vector<std::byte>& bytes, std::span<const float> block) {
    float largest = 0;
    for (const float value : block) largest = std::max(largest, std::fabs(value));
    const f16_bits scale_bits = f32_to_f16(largest / 127);
    const float scale = f16_to_f32(scale_bits);
    append(bytes, scale_bits);
    for (const float value : block) {
        const float code = scale == 0 ? 0 : std::clamp(std::round(value / scale), -127.0f, 127.0f);
        append(bytes, static_cast<int8_t>(code));
    }
}

// As `type`, row-major values[...]. Types without an encoder here get random codes, block by block as large as the
// values.
void encode(WeightType type, std::span<const float> values, std::vector<std::byte>& bytes,
            std::vector<std::byte>& block_scales) {
    const WeightTypeSpec& spec = weight_type_spec(type);
    const auto block_values = static_cast<size_t>(spec.block_values);
    if (type == WeightType::f32) {
        for (const float value : values) append(bytes, value);
    } else if (type == WeightType::f16) {
        for (const float value : values) append(bytes, f32_to_f16(value));
    } else if (type == WeightType::bf16) {
        for (const float value : values) append(bytes, f32_to_bf16(value));
    } else if (type == WeightType::f8_e4m3) {
        for (const float value : values) append(bytes, f32_to_e4m3(value));
    } else if (type == WeightType::q8_0) {
        for (size_t first = 0; first < values.size(); first += 32) append_q8_0(bytes, values.subspan(first, 32));
    } else {
        const size_t blocks = values.size() / block_values;
        bytes.resize(blocks * static_cast<size_t>(spec.block_bytes));
        block_scales.resize(blocks * static_cast<size_t>(spec.scale_bytes));
        for (size_t block = 0; block < blocks; ++block) {
            float largest = 0;
            for (const float value : values.subspan(block * block_values, block_values)) {
                largest = std::max(largest, std::fabs(value));
            }
            fill_random_weights(type, 1, largest, block + 1, &bytes[block * static_cast<size_t>(spec.block_bytes)],
                                block_scales.data() + block * static_cast<size_t>(spec.scale_bytes));
        }
    }
}

}  // namespace

std::span<const InputFamily> all_input_families() {
    static constexpr InputFamily kAll[] = {InputFamily::flat,     InputFamily::ramp,     InputFamily::outliers,
                                           InputFamily::gaussian, InputFamily::denormal, InputFamily::zero,
                                           InputFamily::one_huge};
    return kAll;
}

std::string_view input_family_name(InputFamily family) { return kFamilies[static_cast<size_t>(family)].name; }

std::vector<float> make_input(InputFamily family, int64_t count, uint64_t seed) {
    Random random(seed);
    std::vector<float> values(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) values[i] = kFamilies[static_cast<size_t>(family)].value(i, count, random);
    return values;
}

TestMatrix::TestMatrix(WeightType type, int64_t rows, int64_t cols, InputFamily family, uint64_t seed, float scale)
    : TestMatrix(type, rows, cols, make_input(family, rows * cols, seed), scale) {}

TestMatrix::TestMatrix(WeightType type, int64_t rows, int64_t cols, std::span<const float> values, float scale)
    : type_(type), rows_(rows), cols_(cols), scale_(scale) {
    encode(type, values, bytes_, block_scales_);
}

std::vector<float> TestMatrix::decoded() const {
    std::vector<float> values(static_cast<size_t>(rows_ * cols_));
    view().decode_rows(0, rows_, values.data());
    for (float& value : values) value *= scale_;
    return values;
}

}  // namespace octavo::test
