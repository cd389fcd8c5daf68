// Buffers, reserved ranges, mapped files, and how a lack of memory is worded.
#include <gtest/gtest.h>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "kernels/base/buffer.h"
#include "kernels/base/memory_error.h"
#include "kernels/base/memory_platform.h"

namespace octavo {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

void fill(std::byte* data, size_t bytes, int seed) {
    for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>((i * 31 + static_cast<size_t>(seed)) & 0xff);
}

testing::AssertionResult holds(const std::byte* data, size_t bytes, int seed) {
    for (size_t i = 0; i < bytes; ++i) {
        if (data[i] != static_cast<std::byte>((i * 31 + static_cast<size_t>(seed)) & 0xff)) {
            return testing::AssertionFailure() << "byte " << i << " changed";
        }
    }
    return testing::AssertionSuccess();
}

testing::AssertionResult all_zero(const std::byte* data, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) {
        if (data[i] != std::byte{0}) return testing::AssertionFailure() << "byte " << i << " is not zero";
    }
    return testing::AssertionSuccess();
}

TEST(Buffer, IsAlignedAndOwned) {
    Result<Buffer> buffer = Buffer::allocate(1000, "test");
    ASSERT_TRUE(buffer);
    EXPECT_EQ(buffer->bytes(), 1000u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % 64, 0u);
    std::memset(buffer->data(), 1, buffer->bytes());
    const Buffer moved = std::move(*buffer);
    EXPECT_EQ(moved.as<uint8_t>()[999], 1);
}

TEST(Buffer, OfNoBytesIsEmpty) {
    const Result<Buffer> buffer = Buffer::allocate(0, "test");
    ASSERT_TRUE(buffer);
    EXPECT_EQ(buffer->bytes(), 0u);
}

TEST(Buffer, RefusesMoreThanThereIs) {
    for (const size_t bytes : {size_t{1} << 50, SIZE_MAX, SIZE_MAX - 63}) {
        const Result<Buffer> buffer = Buffer::allocate(bytes, "attention workspace");
        ASSERT_FALSE(buffer);
        EXPECT_EQ(buffer.error().kind, ErrorKind::memory);
        EXPECT_NE(buffer.error().message.find("attention workspace"), std::string::npos) << buffer.error().message;
        EXPECT_NE(buffer.error().message.find("wanted"), std::string::npos) << buffer.error().message;
    }
}

TEST(ReservedRange, GrowsAndShrinksInPlace) {
    Result<ReservedRange> range = ReservedRange::reserve(64 * kMiB, "test pool");
    ASSERT_TRUE(range) << range.error().message;
    std::byte* const data = range->data();
    EXPECT_EQ(range->committed_bytes(), 0u);
    EXPECT_GE(range->reserved_bytes(), 64 * kMiB);

    ASSERT_TRUE(range->commit(kMiB));
    EXPECT_TRUE(all_zero(data, kMiB));
    fill(data, kMiB, 1);
    ASSERT_TRUE(range->commit(8 * kMiB));
    EXPECT_EQ(range->data(), data);
    EXPECT_TRUE(holds(data, kMiB, 1));
    fill(data, 8 * kMiB, 2);

    ASSERT_TRUE(range->commit(2 * kMiB));
    EXPECT_EQ(range->committed_bytes(), 2 * kMiB);
    EXPECT_TRUE(holds(data, 2 * kMiB, 2));
    ASSERT_TRUE(range->commit(8 * kMiB));
    EXPECT_TRUE(holds(data, 2 * kMiB, 2));
    EXPECT_TRUE(all_zero(data + 2 * kMiB, 6 * kMiB));  // the pages went back to the system in between
}

TEST(ReservedRange, CommitsWholePages) {
    Result<ReservedRange> range = ReservedRange::reserve(kMiB + 1, "test pool");
    ASSERT_TRUE(range);
    EXPECT_GE(range->reserved_bytes(), kMiB + 1);
    ASSERT_TRUE(range->commit(1));
    const size_t page = range->committed_bytes();
    EXPECT_GT(page, 1u);
    ASSERT_TRUE(range->commit(page + 1));
    EXPECT_EQ(range->committed_bytes(), 2 * page);
    ASSERT_TRUE(range->commit(0));
    EXPECT_EQ(range->committed_bytes(), 0u);
    ASSERT_TRUE(range->commit(range->reserved_bytes()));
}

TEST(ReservedRange, RefusesMoreThanWasReserved) {
    Result<ReservedRange> range = ReservedRange::reserve(kMiB, "keys of layer 3");
    ASSERT_TRUE(range);
    ASSERT_TRUE(range->commit(4096));
    const Status status = range->commit(range->reserved_bytes() + 1);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().kind, ErrorKind::memory);
    EXPECT_NE(status.error().message.find("keys of layer 3"), std::string::npos) << status.error().message;
    EXPECT_NE(status.error().message.find("1.00 MiB"), std::string::npos) << status.error().message;
    EXPECT_EQ(range->committed_bytes(), 4096u);
}

TEST(ReservedRange, RefusesMoreThanTheMachineHas) {
    if (available_memory_bytes() == 0) GTEST_SKIP() << "this system does not say how much memory is free";
    constexpr size_t kTooMuch = size_t{1} << 44;  // 16 TiB: addresses are there, memory is not
    Result<ReservedRange> range = ReservedRange::reserve(kTooMuch, "test pool");
    ASSERT_TRUE(range) << range.error().message;
    const Status status = range->commit(kTooMuch);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().kind, ErrorKind::memory);
    EXPECT_NE(status.error().message.find("16.00 TiB wanted"), std::string::npos) << status.error().message;
    EXPECT_FALSE(ReservedRange::reserve(SIZE_MAX, "test pool"));
}

TEST(ReservedRange, MovesWithoutCopying) {
    Result<ReservedRange> first = ReservedRange::reserve(kMiB, "test pool");
    ASSERT_TRUE(first && first->commit(kMiB));
    std::byte* const data = first->data();
    fill(data, kMiB, 3);
    ReservedRange second = std::move(*first);
    ReservedRange third;
    third = std::move(second);
    EXPECT_EQ(third.data(), data);
    EXPECT_TRUE(holds(data, kMiB, 3));
}

// A file that is removed when the test ends.
class TemporaryFile {
  public:
    explicit TemporaryFile(const std::string& content)
        : path_(std::filesystem::path(testing::TempDir()) /
                ("octavo_memory_test_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()))) {
        std::ofstream(path_, std::ios::binary) << content;
    }
    ~TemporaryFile() { std::filesystem::remove(path_); }
    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

TEST(MappedFile, ShowsTheWholeFile) {
    const TemporaryFile file("octavo");
    Result<MappedFile> mapped = MappedFile::open(file.path());
    ASSERT_TRUE(mapped) << mapped.error().message;
    const MappedFile moved = std::move(*mapped);
    ASSERT_EQ(moved.bytes().size(), 6u);
    EXPECT_EQ(std::memcmp(moved.bytes().data(), "octavo", 6), 0);
}

TEST(MappedFile, EmptyFileIsAnEmptySpan) {
    const TemporaryFile file("");
    const Result<MappedFile> mapped = MappedFile::open(file.path());
    ASSERT_TRUE(mapped) << mapped.error().message;
    EXPECT_TRUE(mapped->bytes().empty());
}

TEST(MappedFile, SaysWhatIsWrong) {
    const Result<MappedFile> missing = MappedFile::open("/no/such/file.gguf");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().kind, ErrorKind::io);
    EXPECT_NE(missing.error().message.find("/no/such/file.gguf"), std::string::npos) << missing.error().message;
    EXPECT_FALSE(MappedFile::open(testing::TempDir()));  // a folder
}

TEST(MachineMemory, CountsWhatThisProcessTakes) {
    const MachineMemory before = machine_memory();
    if (before.total == 0) GTEST_SKIP() << "this system does not say how much memory it has";
    EXPECT_GE(before.total, before.available);
    EXPECT_LE(before.own_files, before.own);
    std::vector<char> touched(64 * kMiB, 'x');
    const MachineMemory after = machine_memory();
    EXPECT_GE(after.own - after.own_files, before.own - before.own_files + 32 * kMiB) << touched[1];
}

TEST(MemoryError, WritesBytesForPeople) {
    EXPECT_EQ(format_bytes(0), "0 bytes");
    EXPECT_EQ(format_bytes(1023), "1023 bytes");
    EXPECT_EQ(format_bytes(1024), "1.00 KiB");
    EXPECT_EQ(format_bytes(kMiB - 1), "1.00 MiB");
    EXPECT_EQ(format_bytes(kMiB * 3 / 2), "1.50 MiB");
    EXPECT_EQ(format_bytes(uint64_t{8} << 30), "8.00 GiB");
    EXPECT_EQ(format_bytes(UINT64_MAX), "16.00 EiB");
}

}  // namespace
}  // namespace octavo
