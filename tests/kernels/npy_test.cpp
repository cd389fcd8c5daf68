#include "tests/support/npy.h"

#include <gtest/gtest.h>
#include <cstring>
#include <string>

#include "tests/support/paths.h"

namespace octavo {
namespace {

// The bytes of a version 1 file, as NumPy writes it.
std::vector<std::byte> npy(const std::string& type, const std::string& shape, const std::string& data) {
    std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + shape + "), }";
    header.resize(117, ' ');
    header += '\n';
    const std::string all = std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + data;
    std::vector<std::byte> bytes(all.size());
    std::memcpy(bytes.data(), all.data(), all.size());
    return bytes;
}

TEST(Npy, ReadsEveryType) {
    const Result<test::NpyArray> floats = test::parse_npy(npy("<f4", "2, 1", std::string("\0\0\x80\x3f\0\0\0\xc0", 8)));
    ASSERT_TRUE(floats) << floats.error().message;
    EXPECT_EQ(floats->shape, (std::vector<int64_t>{2, 1}));
    EXPECT_EQ(floats->floats, (std::vector<float>{1, -2}));

    const Result<test::NpyArray> halves = test::parse_npy(npy("<f2", "2,", std::string("\x00\x3c\x01\x00", 4)));
    ASSERT_TRUE(halves) << halves.error().message;
    EXPECT_EQ(halves->floats, (std::vector<float>{1, 0x1p-24f}));

    const Result<test::NpyArray> ints = test::parse_npy(npy("<i4", "1,", std::string("\xff\xff\xff\xff", 4)));
    ASSERT_TRUE(ints) << ints.error().message;
    EXPECT_EQ(ints->ints, (std::vector<int32_t>{-1}));
}

TEST(Npy, RefusesWhatItCannotRead) {
    EXPECT_FALSE(test::parse_npy({}));
    EXPECT_FALSE(test::parse_npy(npy("<f8", "1,", std::string(8, '\0'))));
    EXPECT_FALSE(test::parse_npy(npy("<f4", "3,", std::string(8, '\0'))));
}

TEST(Npy, ReadsDeflatedArchives) {
    const Result<std::filesystem::path> file = test::shared_path("models/pocket/hf_hidden_512.npz");
    if (!file) GTEST_SKIP() << file.error().message;
    const auto arrays = test::read_npz(*file);
    ASSERT_TRUE(arrays) << arrays.error().message;
    ASSERT_TRUE(arrays->contains("positions"));
    ASSERT_TRUE(arrays->contains("h8"));
    EXPECT_EQ(arrays->at("positions").ints.size(), 16u);
    EXPECT_EQ(arrays->at("h8").shape, (std::vector<int64_t>{16, 384}));
}

}  // namespace
}  // namespace octavo
