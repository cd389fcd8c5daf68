// How decode attention divides a sequence between splits (kernels/cuda/attention_deal.h), which needs no GPU.
#include "kernels/cuda/attention_deal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace octavo::cuda {
namespace {

struct Sequence {
    int pieces, first_tile, tiles;
    int splits, least_tiles, piece_tiles;
};

// Every tile and every piece comes to one split, and a split's tiles in their order.
void expect_each_once(const Sequence& s) {
    SCOPED_TRACE(testing::Message() << s.pieces << " pieces, " << s.tiles << " tiles, " << s.splits << " splits of "
                                    << s.least_tiles << " tiles at least, a piece as long as " << s.piece_tiles);
    std::vector<int> tiles(static_cast<size_t>(s.tiles)), pieces(static_cast<size_t>(s.pieces));
    for (int split = 0; split < s.splits; ++split) {
        const Share share =
            share_of(split, s.pieces, {s.first_tile, s.first_tile + s.tiles}, s.splits, s.least_tiles, s.piece_tiles);
        for (int i = 0; i < share.bulk.count; ++i) {
            const int tile = share.bulk.tile(i) - s.first_tile;
            ASSERT_GE(tile, 0);
            ASSERT_LT(tile, s.tiles);
            ++tiles[static_cast<size_t>(tile)];
            if (i > 0) {
                ASSERT_GT(share.bulk.tile(i), share.bulk.tile(i - 1));
            }
        }
        for (int i = share.others.first; i < share.others.end; ++i) {
            ASSERT_LT(i, s.pieces);
            ++pieces[static_cast<size_t>(i)];
        }
    }
    EXPECT_EQ(std::ranges::count(tiles, 1), s.tiles);
    EXPECT_EQ(std::ranges::count(pieces, 1), s.pieces);
}

TEST(AttentionDeal, GivesEveryTileAndEveryPieceToOneSplit) {
    for (int splits = 1; splits <= 9; ++splits) {
        for (int pieces = 0; pieces <= 20; ++pieces) {
            for (int tiles = 0; tiles <= 40; ++tiles) {
                for (const int least : {1, 2, 4}) {
                    for (const int piece : {1, 2, 8}) {
                        expect_each_once({pieces, tiles % 3, tiles, splits, least, piece});
                    }
                }
            }
        }
    }
    std::mt19937 engine(1);
    const auto up_to = [&](int most) { return std::uniform_int_distribution(0, most)(engine); };
    for (int i = 0; i < 2000; ++i) {
        expect_each_once({up_to(300), up_to(9), up_to(9000), 1 + up_to(600), 1 + up_to(3), 1 + up_to(15)});
    }
}

// A split with a piece has as many tiles less as the piece takes, or none; no split has two tiles more than another.
TEST(AttentionDeal, CountsPiecesAsTiles) {
    constexpr Sequence kLong = {7, 1, 2040, 264, 2, 4};
    std::vector<int> loads;
    for (int split = 0; split < kLong.splits; ++split) {
        const Share share =
            share_of(split, kLong.pieces, {kLong.first_tile, kLong.first_tile + kLong.tiles}, kLong.splits, 2, 4);
        const int pieces = share.others.end - share.others.first;
        EXPECT_EQ(pieces, split < kLong.pieces ? 1 : 0);
        loads.push_back(share.bulk.count + pieces * kLong.piece_tiles);
    }
    const auto [least, most] = std::ranges::minmax(loads);
    EXPECT_LE(most - least, 1);
}

// In a round the splits read tiles that follow each other.
TEST(AttentionDeal, ReadsFromTheFrontToTheEnd) {
    for (int split = 0; split + 1 < 16; ++split) {
        const Share mine = share_of(split, 0, {2, 98}, 16, 1, 4);
        const Share next = share_of(split + 1, 0, {2, 98}, 16, 1, 4);
        ASSERT_EQ(mine.bulk.count, 6);
        for (int i = 0; i < 6; ++i) EXPECT_EQ(mine.bulk.tile(i) + 1, next.bulk.tile(i));
    }
}

// Less than `least_tiles` are no split's: a short sequence has few of them.
TEST(AttentionDeal, LeavesSplitsOutWhereThereIsLittle) {
    EXPECT_EQ(share_of(2, 0, {0, 4}, 16, 2, 4).bulk.count, 0);
    EXPECT_EQ(share_of(1, 0, {0, 4}, 16, 2, 4).bulk.count, 2);
}

}  // namespace
}  // namespace octavo::cuda
