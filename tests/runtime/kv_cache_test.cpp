#include "runtime/kv/kv_cache.h"

#include <gtest/gtest.h>

#include <cstring>

#include "kernels/base/memory_platform.h"

namespace octavo {
namespace {

constexpr KvShape shape{3, 2, 64};
constexpr KvSettings mixed{.scheme = {KvFormat::f32, KvFormat::f16}};

class KvCacheTest : public testing::Test {
  protected:
    HostMemory host;
};

TEST_F(KvCacheTest, CommitsInStepsAndPricesThem) {
    Result<KvCache> cache = KvCache::create(shape, mixed, 10000, host);
    ASSERT_TRUE(cache);
    EXPECT_EQ(cache->committed_bytes(), 0);
    EXPECT_EQ(cache->bytes_per_token(), 3 * 2 * 64 * (4 + 2));
    ASSERT_TRUE(cache->commit(1));
    EXPECT_EQ(cache->committed_cells(), 1024);
    EXPECT_EQ(cache->committed_bytes(), 1024 * cache->bytes_per_token());  // page-sized: nothing lost
    ASSERT_TRUE(cache->commit(1024));
    EXPECT_EQ(cache->committed_cells(), 1024);
    ASSERT_TRUE(cache->commit(1025));
    EXPECT_EQ(cache->committed_cells(), 2048);
    ASSERT_TRUE(cache->commit(10000));
    EXPECT_EQ(cache->committed_cells(), 10000);
}

TEST_F(KvCacheTest, GrowingAndShrinkingKeepsTheCellsThatStay) {
    Result<KvCache> cache = KvCache::create(shape, mixed, 100000, host);
    ASSERT_TRUE(cache);
    ASSERT_TRUE(cache->commit(1500));
    const KvView before = cache->view(2);
    std::memset(before.k.payload, 7, 1500 * 2 * 64 * 4);
    ASSERT_TRUE(cache->commit(90000));
    cache->shrink(1000);
    EXPECT_EQ(cache->committed_cells(), 1024);
    EXPECT_EQ(cache->committed_bytes(), 1024 * cache->bytes_per_token());
    ASSERT_TRUE(cache->commit(3000));
    const KvView after = cache->view(2);
    EXPECT_EQ(after.k.payload, before.k.payload);
    EXPECT_EQ(static_cast<int>(after.k.payload[1000 * 2 * 64 * 4 - 1]), 7);
    EXPECT_EQ(static_cast<int>(after.k.payload[1200 * 2 * 64 * 4]), 0) << "given back, so fresh pages";
    cache->shrink(0);
    EXPECT_EQ(cache->committed_bytes(), 0);
}

TEST_F(KvCacheTest, ViewsNameTheFormatsAndDoNotOverlap) {
    Result<KvCache> cache = KvCache::create(shape, mixed, 2048, host);
    ASSERT_TRUE(cache);
    ASSERT_TRUE(cache->commit(2048));
    for (int layer = 0; layer < shape.layers; ++layer) {
        const KvView view = cache->view(layer);
        EXPECT_EQ(view.kv_heads, 2);
        EXPECT_EQ(view.head_dim, 64);
        EXPECT_EQ(view.k.format, KvFormat::f32);
        EXPECT_EQ(view.v.format, KvFormat::f16);
        EXPECT_EQ(view.k.scales, nullptr);
        std::memset(view.k.payload, 2 * layer + 1, 2048 * 2 * 64 * 4);
        std::memset(view.v.payload, 2 * layer + 2, 2048 * 2 * 64 * 2);
    }
    for (int layer = 0; layer < shape.layers; ++layer) {
        EXPECT_EQ(static_cast<int>(cache->view(layer).k.payload[2048 * 2 * 64 * 4 - 1]), 2 * layer + 1);
        EXPECT_EQ(static_cast<int>(cache->view(layer).v.payload[0]), 2 * layer + 2);
    }
}

TEST_F(KvCacheTest, BeyondItsLargestContextItIsFull) {
    Result<KvCache> cache = KvCache::create(shape, mixed, 2000, host);
    ASSERT_TRUE(cache);
    const Status status = cache->commit(2001);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().kind, ErrorKind::context_full);
    EXPECT_NE(status.error().message.find("2001"), std::string::npos);
    EXPECT_EQ(cache->committed_cells(), 0);
}

TEST_F(KvCacheTest, WithoutMemoryItSaysWhatIsWantedAndStaysAsItWas) {
    if (available_memory_bytes() == 0) GTEST_SKIP() << "the system does not say how much memory is free";
    // 64 layers of 256 KiB a cell: reserving address space costs nothing, committing it would take terabytes.
    Result<KvCache> cache = KvCache::create({64, 64, 256}, mixed, 1 << 20, host);
    if (!cache) GTEST_SKIP() << "the system does not reserve that much: " << cache.error().message;
    const Status status = cache->commit(1 << 20);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().kind, ErrorKind::memory);
    EXPECT_EQ(cache->committed_cells(), 0);
    EXPECT_EQ(cache->committed_bytes(), 0);
}

TEST_F(KvCacheTest, ImpossibleSizesAreRefused) {
    EXPECT_FALSE(KvCache::create(shape, mixed, 0, host));
    EXPECT_FALSE(KvCache::create(shape, mixed, -5, host));
    EXPECT_FALSE(KvCache::create(shape, mixed, INT64_MAX / 2, host));
}

}  // namespace
}  // namespace octavo
