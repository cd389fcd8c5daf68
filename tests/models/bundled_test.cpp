#include "models/bundled/bundled.h"

#include <gtest/gtest.h>
#include <cstdint>
#include <cstring>

namespace octavo {
namespace {

TEST(Bundled, IsAnAlignedGgufFile) {
    const std::span<const std::byte> file = bundled_model();
    ASSERT_GT(file.size(), 1'000'000u);
    EXPECT_EQ(std::memcmp(file.data(), "GGUF", 4), 0);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(file.data()) % 64, 0u);
}

}  // namespace
}  // namespace octavo
