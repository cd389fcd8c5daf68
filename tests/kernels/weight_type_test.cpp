#include "kernels/weight_type.h"

#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/float8.h"
#include "kernels/base/fnv_hash.h"
#include "kernels/matrix.h"
#include "kernels/random_weights.h"
#include "tests/support/compare.h"
#include "tests/support/paths.h"

namespace octavo {
namespace {

constexpr int64_t kRows = 4;
constexpr int64_t kCols = 1024;

template <class Number>
Number number_at(const std::vector<std::byte>& bytes, size_t offset) {
    Number value = 0;
    if (offset + sizeof value <= bytes.size()) std::memcpy(&value, &bytes[offset], sizeof value);
    return value;
}

// Where the records of the tensors begin: the first is searched for by its name. Enough for these two files; the real
// reader is in models/gguf.
size_t first_record(const std::vector<std::byte>& file, const std::string& name) {
    for (size_t at = 0; at + 8 + name.size() < file.size(); ++at) {
        if (number_at<uint64_t>(file, at) == name.size() && std::memcmp(&file[at + 8], name.data(), name.size()) == 0) {
            return at;
        }
    }
    return file.size();
}

// Bytes of the tensor `name`, from its record to the end of the file; empty when it is not there.
std::vector<std::byte> tensor_bytes(const std::vector<std::byte>& file, const std::string& first,
                                    const std::string& name) {
    size_t at = first_record(file, first);
    size_t found = file.size();
    const uint64_t tensors = number_at<uint64_t>(file, 8);
    for (uint64_t i = 0; i < tensors && at < file.size(); ++i) {
        const size_t name_bytes = number_at<uint64_t>(file, at);
        const std::string record_name(reinterpret_cast<const char*>(&file[at + 8]), name_bytes);
        at += 8 + name_bytes + 4 + 2 * 8;  // name, number of dimensions, two of them
        if (record_name == name) found = number_at<uint64_t>(file, at + 4);
        at += 4 + 8;  // type, offset
    }
    const size_t data = (at + 31) / 32 * 32;
    if (found >= file.size() || data + found >= file.size()) return {};
    return {file.begin() + static_cast<std::ptrdiff_t>(data + found), file.end()};
}

// Hashes of the values that the fixtures' index names as expected, of both files: float32, row-major. The values
// themselves lie beside the tree (../shared) and say where a difference is.
struct Expected {
    std::string_view type;
    uint64_t quantised;
    uint64_t every_bit;  // 0: not in that file
};
constexpr Expected kExpected[] = {
    {"F32", 0x6e4759c77501d73a, 0},
    {"F16", 0x07a961db9d105497, 0xcf33532ddbf39459},
    {"BF16", 0xc72adde36f82b180, 0x3a59cc3268a54217},
    {"Q4_0", 0x506e61164af26430, 0x3ac44afcdbff1a0d},
    {"Q4_1", 0x4f2b62d4992d2c7f, 0x526ee090abc57539},
    {"Q5_0", 0xaef7fa2e2a4f67f8, 0x5feb343fcf84f3ff},
    {"Q5_1", 0x28e7c7d5344645de, 0x34c5911370dd0f67},
    {"Q8_0", 0xe8f46a0622331de8, 0x649ec09c5051b290},
    {"Q2_K", 0xc62d027394258084, 0xbd63215d1b055066},
    {"Q3_K", 0xbb6aae7056b9242d, 0x030c8efc4cb6ab7c},
    {"Q4_K", 0xae94dfbb41279a99, 0x32bbc134944d87e5},
    {"Q5_K", 0x1f0a2f80b86b6006, 0xb329d9ca0169b280},
    {"Q6_K", 0x6151545f51499b5d, 0x816723d7f872b5de},
    {"IQ1_S", 0xc5404b029f3edb9f, 0x62947b4bf917d933},
    {"IQ1_M", 0x4274c222c94cdcf7, 0x575ce529328fc79d},
    {"IQ2_XXS", 0x5c16b7634d56b66d, 0x25e13638825a14b0},
    {"IQ2_XS", 0x5646643f35efb3d8, 0x05252effef319358},
    {"IQ2_S", 0x7eab5343e6882584, 0xb171fa5481776732},
    {"IQ3_XXS", 0x4a19a6fd07ef62fd, 0x900c9e075304fc3b},
    {"IQ3_S", 0xe627ba99bd71a4f4, 0xe9acbdfd246fa104},
    {"IQ4_NL", 0x106ad1bd66583594, 0x43b29344a663b006},
    {"IQ4_XS", 0xb52815ffd6075a69, 0x4f7eb67156c417bd},
    {"TQ1_0", 0x0a6f7eb24ff18a89, 0x40c96e11aa53faef},
    {"TQ2_0", 0x0a6f7eb24ff18a89, 0x259fa993ce11cc23},
    {"MXFP4", 0xe5be18f10620f3d8, 0x55219c4d033e376b},
    {"NVFP4", 0xc9b26c4e2bc67db4, 0x4a939055af096a08},
    {"Q1_0", 0x4bcfc43593d53325, 0xe3b2983635bfef25},
    {"Q2_0", 0xea0ea0fb12491e4f, 0xf3ecc58557475094},
};

uint64_t hash_of(const std::vector<float>& values) {
    FnvHash hash;
    hash.bytes(std::as_bytes(std::span(values)));
    return hash.value();
}

// Says where values differ, if what they should be is at hand.
void show_difference(const std::vector<float>& got, const std::string& file) {
    const auto path = test::shared_path("fixtures/quant_types/" + file);
    const auto expected = path ? test::read_file(*path) : Result<std::vector<std::byte>>(path.error());
    if (!expected || expected->size() != got.size() * sizeof(float)) return;
    std::vector<float> want(got.size());
    std::memcpy(want.data(), expected->data(), expected->size());
    EXPECT_TRUE(test::same_bits(got, want, {{"row", kRows}, {"column", kCols}}));
}

void expect_exact_decode(const std::string& file_name, const std::string& first, uint64_t Expected::*hash,
                         const std::string& suffix) {
    const auto file = test::read_file(test::fixture_path("quant_types/" + file_name));
    ASSERT_TRUE(file) << file.error().message;
    for (const WeightTypeSpec& spec : weight_types()) {
        const std::string name(spec.name);
        SCOPED_TRACE(name);
        if (spec.gguf_id == kNoGgufType) continue;
        const auto* expected = std::find_if(std::begin(kExpected), std::end(kExpected),
                                            [&](const Expected& entry) { return entry.type == spec.name; });
        ASSERT_NE(expected, std::end(kExpected));
        if (expected->*hash == 0) continue;
        const std::vector<std::byte> blocks = tensor_bytes(*file, first, name);
        const Matrix matrix{spec.type, blocks.data(), kRows, kCols};
        ASSERT_GE(blocks.size(), static_cast<size_t>(matrix.bytes()));
        std::vector<float> got(kRows * kCols);
        for (int64_t row = 0; row < kRows; ++row) matrix.decode_rows(row, 1, &got[row * kCols]);
        EXPECT_EQ(hash_of(got), expected->*hash);
        if (hash_of(got) != expected->*hash) show_difference(got, name + suffix);
    }
}

TEST(WeightType, DecodesQuantisedValuesExactly) {
    expect_exact_decode("quant_types.gguf", "F32", &Expected::quantised, ".f32");
}
TEST(WeightType, DecodesEveryBitPatternExactly) {
    expect_exact_decode("quant_bits.gguf", "F16", &Expected::every_bit, ".bits.f32");
}

TEST(RandomWeights, AreAsLargeAsAskedAndTheSameForASeed) {
    for (const WeightTypeSpec& spec : weight_types()) {
        SCOPED_TRACE(std::string(spec.name));
        Matrix matrix{spec.type, nullptr, 2, 1024};
        const int64_t blocks = matrix.rows * matrix.row_blocks();
        std::vector<std::byte> data(static_cast<size_t>(matrix.bytes()));
        std::vector<std::byte> scales(static_cast<size_t>(blocks * spec.scale_bytes));
        matrix.data = data.data();
        matrix.block_scales = scales.data();
        std::vector<float> values(2048);
        for (const float largest : {0.0f, 0.02f, 1.0f, 300.0f}) {
            fill_random_weights(spec.type, blocks, largest, 7, data.data(), scales.data());
            matrix.decode_rows(0, matrix.rows, values.data());
            float found = 0;
            for (const float value : values) {
                ASSERT_TRUE(std::isfinite(value));
                found = std::max(found, std::fabs(value));
            }
            EXPECT_GE(found, largest / 2);
            EXPECT_LE(found, largest * 4);
        }
        std::vector<std::byte> again(data.size()), other(data.size());
        fill_random_weights(spec.type, blocks, 300, 7, again.data(), scales.data());
        fill_random_weights(spec.type, blocks, 300, 8, other.data(), scales.data());
        EXPECT_EQ(data, again);
        EXPECT_NE(data, other);
    }
}

TEST(WeightType, Fp8BlocksShareTheirScalesAmong128Rows) {
    constexpr int64_t kRows = 130, kCols = 256;
    const std::vector<std::byte> codes(kRows * kCols, std::byte{0x38});  // 1
    const float scales[2][2] = {{1, 2}, {3, 4}};
    const Matrix matrix{
        WeightType::f8_e4m3_blocks, codes.data(), kRows, kCols, 1, reinterpret_cast<const std::byte*>(scales)};
    EXPECT_EQ(matrix.scale_bytes(), 16);
    std::vector<float> values(2 * kCols);
    matrix.decode_rows(127, 2, values.data());
    for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], 1 + static_cast<float>(i / 128)) << i;
    matrix.slice_rows(128, 2).decode_rows(1, 1, values.data());
    EXPECT_EQ(values[0], 3);
}

TEST(WeightType, TableIsConsistent) {
    std::set<uint32_t> ids;
    for (const WeightTypeSpec& spec : weight_types()) {
        EXPECT_EQ(&weight_type_spec(spec.type), &spec) << spec.name;
        EXPECT_NE(spec.decode == nullptr, spec.decode_apart == nullptr) << spec.name;
        EXPECT_EQ(spec.scale_bytes > 0, spec.decode_apart != nullptr) << spec.name;
        if (spec.gguf_id == kNoGgufType) continue;
        EXPECT_EQ(find_weight_type(spec.gguf_id), &spec) << spec.name;
        EXPECT_EQ(weight_type_name(spec.gguf_id), spec.name);
        EXPECT_TRUE(ids.insert(spec.gguf_id).second) << spec.name;
    }
}

TEST(WeightType, NamesTypesItCannotRead) {
    EXPECT_EQ(find_weight_type(15), nullptr);
    EXPECT_EQ(weight_type_name(15), "Q8_K");
    EXPECT_EQ(find_weight_type(4), nullptr);  // a number that was withdrawn
    EXPECT_EQ(weight_type_name(4), "");
    EXPECT_EQ(find_weight_type(0xffffffffu), nullptr);
}

// All codes of both formats against the definition: sign, exponent, mantissa.
TEST(WeightType, DecodesSmallFloats) {
    for (int bits = 0; bits < 256; ++bits) {
        const auto byte = static_cast<std::byte>(bits);
        float value = 0;
        weight_type_spec(WeightType::f8_e4m3).decode(&byte, 1, &value);
        if ((bits & 127) == 127) {
            EXPECT_TRUE(std::isnan(value)) << bits;
            continue;
        }
        const int exponent = bits >> 3 & 15;
        const double magnitude = exponent == 0 ? std::ldexp(bits & 7, -9) : std::ldexp(8 + (bits & 7), exponent - 10);
        EXPECT_EQ(value, (bits & 128) != 0 ? -magnitude : magnitude) << bits;
        EXPECT_EQ(f32_to_e4m3(value), bits);
    }
    EXPECT_EQ(f32_to_e4m3(1e9f), 0x7e);
    EXPECT_EQ(f32_to_e4m3(1.0625f), 0x38);  // a tie goes to the even mantissa
    EXPECT_EQ(f32_to_e4m3(1.1875f), 0x3a);
    EXPECT_EQ(f32_to_e4m3(0x1p-10f), 0x00);
    EXPECT_EQ(f32_to_e4m3(0x1.8p-9f), 0x02);
}

TEST(WeightType, DecodesNvfp4WithScalesApart) {
    // Two blocks: all codes in order under scale 1, then the same under 1.5.
    std::vector<std::byte> codes;
    for (int block = 0; block < 2; ++block) {
        for (int pair = 0; pair < 8; ++pair) codes.push_back(static_cast<std::byte>(2 * pair | (2 * pair + 1) << 4));
    }
    const std::byte scales[] = {std::byte{0x38}, std::byte{0x3c}};
    const Matrix matrix{WeightType::nvfp4_apart, codes.data(), 2, 16, 1, scales};
    std::vector<float> values(32);
    matrix.decode_rows(0, 2, values.data());
    const float magnitudes[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    for (size_t i = 0; i < 32; ++i) {
        const float want = (i < 16 ? 1.0f : 1.5f) * (i % 16 < 8 ? 1.0f : -1.0f) * magnitudes[i % 8];
        EXPECT_EQ(values[i], want) << i;
    }
    std::vector<float> second(16);
    matrix.slice_rows(1, 1).decode_rows(0, 1, second.data());
    EXPECT_EQ(second, std::vector<float>(values.begin() + 16, values.end()));
}

TEST(Matrix, CountsBytesByBlocks) {
    const Matrix matrix{WeightType::q8_0, nullptr, 3, 64};
    EXPECT_EQ(matrix.row_bytes(), 68);
    EXPECT_EQ(matrix.bytes(), 204);
    EXPECT_EQ(matrix.slice_rows(1, 2).rows, 2);
}

}  // namespace
}  // namespace octavo
