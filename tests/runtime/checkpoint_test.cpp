#include "runtime/checkpoint.h"

#include <gtest/gtest.h>

namespace octavo {
namespace {

constexpr int64_t state_bytes = 1000;

Checkpoint make(int64_t position, CheckpointKind kind = CheckpointKind::interval) {
    Checkpoint checkpoint;
    checkpoint.position = position;
    checkpoint.kind = kind;
    checkpoint.state = std::move(*Buffer::allocate(state_bytes, "test"));
    return checkpoint;
}

std::vector<int64_t> positions(const CheckpointStore& store) {
    std::vector<int64_t> positions;
    for (const Checkpoint& checkpoint : store.checkpoints()) positions.push_back(checkpoint.position);
    return positions;
}

TEST(Checkpoints, NearestIsAtOrBefore) {
    CheckpointStore store(1 << 20);
    EXPECT_EQ(store.nearest(100), nullptr);
    for (const int64_t position : {50, 10, 200}) store.add(make(position));
    EXPECT_EQ(positions(store), (std::vector<int64_t>{10, 50, 200}));
    EXPECT_EQ(store.nearest(9), nullptr);
    EXPECT_EQ(store.nearest(10)->position, 10);
    EXPECT_EQ(store.nearest(199)->position, 50);
    EXPECT_EQ(store.nearest(1000)->position, 200);
    EXPECT_EQ(store.at(50)->position, 50);
    EXPECT_EQ(store.at(51), nullptr);
}

TEST(Checkpoints, SamePositionIsReplaced) {
    CheckpointStore store(1 << 20);
    store.add(make(10));
    store.add(make(10, CheckpointKind::reply));
    ASSERT_EQ(store.checkpoints().size(), 1u);
    EXPECT_EQ(store.checkpoints()[0].kind, CheckpointKind::reply);
    EXPECT_EQ(store.bytes(), state_bytes);
}

TEST(Checkpoints, TruncateDropsWhatComesAfter) {
    CheckpointStore store(1 << 20);
    for (const int64_t position : {10, 20, 30}) store.add(make(position));
    store.truncate(20);
    EXPECT_EQ(positions(store), (std::vector<int64_t>{10, 20}));
    EXPECT_EQ(store.bytes(), 2 * state_bytes);
    store.clear();
    EXPECT_EQ(store.bytes(), 0);
}

TEST(Checkpoints, TheBudgetHoldsAtEveryMoment) {
    CheckpointStore store(12 * state_bytes);
    for (int64_t i = 1; i <= 500; ++i) {
        store.add(make(i * 100));
        ASSERT_LE(store.bytes(), store.budget_bytes());
        ASSERT_EQ(store.checkpoints().back().position, i * 100) << "the newest always stays";
    }
    EXPECT_EQ(store.checkpoints().size(), 12u);
}

TEST(Checkpoints, SpacingGrowsWithAge) {
    CheckpointStore store(16 * state_bytes);
    constexpr int64_t count = 1024;
    for (int64_t i = 1; i <= count; ++i) store.add(make(i));
    // Newest few kept one by one.
    for (int64_t i = 0; i < CheckpointStore::newest_kept; ++i) {
        EXPECT_NE(store.at(count - i), nullptr) << i;
    }
    // Whatever position one goes back to, what has to be read again is a bounded share of the way back.
    for (int64_t position = 1; position <= count; ++position) {
        const Checkpoint* nearest = store.nearest(position);
        const int64_t again = position - (nearest != nullptr ? nearest->position : 0);
        const int64_t way_back = count - position;
        EXPECT_LE(again, way_back + CheckpointStore::newest_kept) << "position " << position;
    }
    EXPECT_EQ(store.checkpoints().size(), 16u);
}

TEST(Checkpoints, TheSystemPromptOutlivesThinning) {
    CheckpointStore store(8 * state_bytes);
    store.add(make(7, CheckpointKind::system_prompt));
    for (int64_t i = 1; i <= 300; ++i) {
        store.add(make(10 + i * 10, i % 2 == 0 ? CheckpointKind::turn : CheckpointKind::interval));
    }
    EXPECT_NE(store.at(7), nullptr);
}

TEST(Checkpoints, MessagesOutliveIntervalsOfTheSameAge) {
    CheckpointStore store(10 * state_bytes);
    for (int64_t i = 1; i <= 11; ++i)
        store.add(make(i * 100, i == 5 ? CheckpointKind::turn : CheckpointKind::interval));
    EXPECT_NE(store.at(500), nullptr);
    EXPECT_EQ(store.checkpoints().size(), 10u);
}

TEST(Checkpoints, ASmallerBudgetAppliesAtOnceAndZeroKeepsNone) {
    CheckpointStore store(10 * state_bytes);
    for (int64_t i = 1; i <= 10; ++i) store.add(make(i));
    store.set_budget(2 * state_bytes);
    EXPECT_EQ(positions(store), (std::vector<int64_t>{9, 10}));
    store.set_budget(0);
    EXPECT_TRUE(store.checkpoints().empty());
    store.add(make(3));
    EXPECT_TRUE(store.checkpoints().empty());
    EXPECT_EQ(store.bytes(), 0);
}

}  // namespace
}  // namespace octavo
