#include "kernels/weight_type.h"

#include <gtest/gtest.h>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "kernels/matrix.h"
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

void expect_exact_decode(const std::string& file_name, const std::string& first, const std::string& suffix) {
    const auto file = test::read_file(test::fixture_path("quant_types/" + file_name));
    ASSERT_TRUE(file) << file.error().message;
    for (const WeightTypeSpec& spec : weight_types()) {
        const std::string name(spec.name);
        if (suffix == ".bits.f32" && name == "F32") continue;  // every bit pattern is its own value
        SCOPED_TRACE(name);
        const auto expected = test::read_file(test::fixture_path("quant_types/" + name + suffix));
        ASSERT_TRUE(expected) << expected.error().message;
        const std::vector<std::byte> blocks = tensor_bytes(*file, first, name);
        const Matrix matrix{spec.type, blocks.data(), kRows, kCols};
        ASSERT_GE(blocks.size(), static_cast<size_t>(matrix.bytes()));

        std::vector<float> want(kRows * kCols);
        ASSERT_EQ(expected->size(), want.size() * sizeof(float));
        std::memcpy(want.data(), expected->data(), expected->size());
        std::vector<float> got(kRows * kCols);
        for (int64_t row = 0; row < kRows; ++row) {
            spec.decode(matrix.row(row), kCols / spec.block_values, &got[row * kCols]);
        }
        EXPECT_TRUE(test::same_bits(got, want, {{"row", kRows}, {"column", kCols}}));
    }
}

TEST(WeightType, DecodesQuantisedValuesExactly) { expect_exact_decode("quant_types.gguf", "F32", ".f32"); }
TEST(WeightType, DecodesEveryBitPatternExactly) { expect_exact_decode("quant_bits.gguf", "F16", ".bits.f32"); }

TEST(WeightType, TableIsConsistent) {
    std::set<uint32_t> ids;
    for (const WeightTypeSpec& spec : weight_types()) {
        EXPECT_EQ(&weight_type_spec(spec.type), &spec) << spec.name;
        EXPECT_EQ(find_weight_type(spec.gguf_id), &spec) << spec.name;
        EXPECT_EQ(weight_type_name(spec.gguf_id), spec.name);
        EXPECT_TRUE(ids.insert(spec.gguf_id).second) << spec.name;
    }
}

TEST(WeightType, NamesTypesItCannotRead) {
    EXPECT_EQ(find_weight_type(16), nullptr);
    EXPECT_EQ(weight_type_name(16), "IQ2_XXS");
    EXPECT_EQ(find_weight_type(4), nullptr);  // a number that was withdrawn
    EXPECT_EQ(weight_type_name(4), "");
    EXPECT_EQ(find_weight_type(0xffffffffu), nullptr);
}

TEST(Matrix, CountsBytesByBlocks) {
    const Matrix matrix{WeightType::q8_0, nullptr, 3, 64};
    EXPECT_EQ(matrix.row_bytes(), 68);
    EXPECT_EQ(matrix.bytes(), 204);
    EXPECT_EQ(matrix.slice_rows(1, 2).rows, 2);
}

}  // namespace
}  // namespace octavo
