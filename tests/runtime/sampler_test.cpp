#include "runtime/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <set>

namespace octavo {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

SamplerOptions plain(float temperature) {
    SamplerOptions options;
    options.temperature = temperature;
    return options;
}

std::map<int32_t, int> counts(const SamplerOptions& options, const std::vector<float>& logits, int draws,
                              const std::vector<int32_t>& history = {}) {
    Sampler sampler(options);
    std::map<int32_t, int> counts;
    for (int i = 0; i < draws; ++i) ++counts[*sampler.sample(logits, history)];
    return counts;
}

std::set<int32_t> support(const SamplerOptions& options, const std::vector<float>& logits) {
    std::set<int32_t> ids;
    for (const auto& [id, count] : counts(options, logits, 4000)) ids.insert(id);
    return ids;
}

std::vector<float> logs(const std::vector<double>& probabilities) {
    std::vector<float> logits;
    for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p)));
    return logits;
}

// Draws agree with the expected shares within five standard deviations.
void expect_shares(const std::map<int32_t, int>& counts, const std::vector<double>& shares, int draws) {
    for (size_t id = 0; id < shares.size(); ++id) {
        const auto found = counts.find(static_cast<int32_t>(id));
        const double count = found == counts.end() ? 0 : found->second;
        const double sigma = std::sqrt(draws * shares[id] * (1 - shares[id]));
        EXPECT_NEAR(count, draws * shares[id], 5 * sigma + 1e-9) << "id " << id;
    }
}

// Published outputs of SplitMix64 for seed 1234567.
TEST(RandomStream, IsSplitMix64) {
    RandomStream random(1234567);
    for (const uint64_t expected : {6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
                                    4593380528125082431u, 16408922859458223821u}) {
        EXPECT_EQ(random.next(), expected);
    }
}

TEST(Sampling, TheExponentialIsClose) {
    for (float x = 0; x > -79; x -= 0.0137f) {
        const double exact = std::exp(static_cast<double>(x));
        ASSERT_NEAR(exp_of_negative(x), exact, exact * 0x1p-22) << x;
    }
    EXPECT_EQ(exp_of_negative(0), 1);
    EXPECT_EQ(exp_of_negative(-infinity), 0);
    EXPECT_EQ(exp_of_negative(nan), 0);
    EXPECT_EQ(sampling_weight(3, 3, 0.7f), uint64_t{1} << kWeightBits);
    EXPECT_EQ(min_p_weight(1), uint64_t{1} << kWeightBits);
}

TEST(Sampling, RanksAreInTheOrderOfLogits) {
    const std::vector<float> rising = {-infinity, -3e38f, -1, -1e-40f, 0, 1e-40f, 1, 3e38f, infinity};
    for (size_t i = 0; i + 1 < rising.size(); ++i) {
        EXPECT_LT(rank_of_logit(rising[i]), rank_of_logit(rising[i + 1]));
        EXPECT_EQ(logit_of_rank(rank_of_logit(rising[i])), rising[i]);
    }
    EXPECT_EQ(rank_of_logit(-0.0f), rank_of_logit(0.0f));
    EXPECT_EQ(rank_of_logit(-infinity), kLeastRank);
    EXPECT_LT(rank_of_logit(nan), kLeastRank);
}

TEST(Sampler, HalvesLookBackAsTheWholeDoes) {
    SamplerOptions options = plain(1);
    options.repeat_penalty = 2;
    options.repeat_window = 3;
    Sampler sampler(options);
    DrawInput input;
    sampler.fill(input, 10, std::vector<int32_t>{1, 2, 7, 12}, 7);
    ASSERT_EQ(input.penalised_count, 1) << "each once, none outside the vocabulary";
    EXPECT_EQ(input.penalised[0], 7);
    EXPECT_EQ(input.random, RandomStream(options.seed).next_unit());
    EXPECT_EQ(*Sampler::checked(5), 5);
    EXPECT_FALSE(Sampler::checked(-1));
}

TEST(Sampler, GreedyTakesTheBestAndTheLowerIdOfEquals) {
    Sampler sampler(plain(0));
    EXPECT_EQ(*sampler.sample(std::vector<float>{1, 3, 3, 2}, {}), 1);
    EXPECT_EQ(*sampler.sample(std::vector<float>{-5, -4, -4}, {}), 1);
    EXPECT_EQ(*sampler.sample(std::vector<float>{0}, {}), 0);
}

TEST(Sampler, NumbersThatAreNoneAreNeverChosen) {
    for (const float temperature : {0.0f, 1.0f}) {
        Sampler sampler(plain(temperature));
        for (int i = 0; i < 200; ++i) {
            EXPECT_EQ(*sampler.sample(std::vector<float>{nan, -infinity, 1, nan}, {}), 2);
            EXPECT_EQ(*sampler.sample(std::vector<float>{nan, 5, infinity, 9}, {}), 2);
        }
        for (const std::vector<float>& bad :
             {std::vector<float>{nan, nan}, std::vector<float>{-infinity, nan}, std::vector<float>{}}) {
            const Result<int32_t> id = sampler.sample(bad, {});
            ASSERT_FALSE(id);
            EXPECT_EQ(id.error().kind, ErrorKind::input);
        }
    }
}

TEST(Sampler, DrawsFollowTheSoftmax) {
    constexpr int draws = 200000;
    const std::vector<double> p = {0.5, 0.25, 0.125, 0.1, 0.025};
    expect_shares(counts(plain(1), logs(p), draws), p, draws);
    // Temperature 0.5 squares the probabilities.
    std::vector<double> squared;
    for (const double value : p) squared.push_back(value * value);
    const double total = std::accumulate(squared.begin(), squared.end(), 0.0);
    for (double& value : squared) value /= total;
    expect_shares(counts(plain(0.5f), logs(p), draws), squared, draws);
}

TEST(Sampler, TopKKeepsTheBestAndLowerIdsAmongEquals) {
    SamplerOptions options = plain(1);
    const std::vector<float> logits = {1, 2, 2, 2, 0};
    options.top_k = 1;
    EXPECT_EQ(support(options, logits), (std::set<int32_t>{1}));
    options.top_k = 2;
    EXPECT_EQ(support(options, logits), (std::set<int32_t>{1, 2}));
    options.top_k = 4;
    EXPECT_EQ(support(options, logits), (std::set<int32_t>{0, 1, 2, 3}));
    options.top_k = 99;
    EXPECT_EQ(support(options, logits).size(), 5u);
}

TEST(Sampler, TopPKeepsTheFewestThatReachTheShare) {
    SamplerOptions options = plain(1);
    const std::vector<float> logits = logs({0.1, 0.4, 0.2, 0.3});
    const std::map<float, std::set<int32_t>> expected = {{0.05f, {1}},    {0.39f, {1}},       {0.41f, {1, 3}},
                                                         {0.69f, {1, 3}}, {0.71f, {1, 2, 3}}, {0.91f, {0, 1, 2, 3}}};
    for (const auto& [p, ids] : expected) {
        options.top_p = p;
        EXPECT_EQ(support(options, logits), ids) << "top-p " << p;
    }
}

TEST(Sampler, TopPIsAShareOfWhatTopKLeft) {
    SamplerOptions options = plain(1);
    options.top_k = 2;  // leaves 0.4 and 0.3, that is 4/7 and 3/7
    options.top_p = 0.55f;
    EXPECT_EQ(support(options, logs({0.1, 0.4, 0.2, 0.3})), (std::set<int32_t>{1}));
    options.top_p = 0.6f;
    EXPECT_EQ(support(options, logs({0.1, 0.4, 0.2, 0.3})), (std::set<int32_t>{1, 3}));
}

TEST(Sampler, TemperatureComesBeforeTopP) {
    SamplerOptions options = plain(0.5f);  // 16, 9, 4, 1 of 30
    options.top_p = 0.52f;
    EXPECT_EQ(support(options, logs({0.1, 0.4, 0.2, 0.3})), (std::set<int32_t>{1}));
}

TEST(Sampler, MinPIsMeasuredFromTheBest) {
    SamplerOptions options = plain(1);
    const std::vector<float> logits = logs({0.1, 0.4, 0.2, 0.3});
    const std::map<float, std::set<int32_t>> expected = {
        {0.2f, {0, 1, 2, 3}}, {0.3f, {1, 2, 3}}, {0.6f, {1, 3}}, {0.8f, {1}}, {1.0f, {1}}};
    for (const auto& [p, ids] : expected) {
        options.min_p = p;
        EXPECT_EQ(support(options, logits), ids) << "min-p " << p;
    }
}

TEST(Sampler, MinPDoesNotChangeWhatTopPIsAShareOf) {
    SamplerOptions options = plain(1);
    options.top_p = 0.55f;  // of the whole: 0.4 and 0.3; of what min-p leaves (0.7): 0.4 alone
    options.min_p = 0.6f;
    EXPECT_EQ(support(options, logs({0.1, 0.4, 0.2, 0.3})), (std::set<int32_t>{1, 3}));
}

TEST(Sampler, RepeatPenaltyByHand) {
    SamplerOptions options = plain(0);
    options.repeat_penalty = 2;
    Sampler sampler(options);
    const std::vector<float> logits = {4, 3, -1, -1.5f};
    EXPECT_EQ(*sampler.sample(logits, std::vector<int32_t>{0}), 1);        // 2, 3
    EXPECT_EQ(*sampler.sample(logits, std::vector<int32_t>{0, 1}), 0);     // 2, 1.5
    EXPECT_EQ(*sampler.sample(logits, std::vector<int32_t>{0, 0, 1}), 0);  // once for each id: not 1, 1.5
    const std::vector<float> negative = {-1, -1.5f};
    EXPECT_EQ(*sampler.sample(negative, std::vector<int32_t>{0}), 1);  // -2, -1.5
    EXPECT_EQ(*sampler.sample(negative, std::vector<int32_t>{-3, 77}), 0) << "ids outside the vocabulary";
}

TEST(Sampler, RepeatPenaltyLooksBackOnlySoFar) {
    SamplerOptions options = plain(0);
    options.repeat_penalty = 2;
    options.repeat_window = 2;
    Sampler sampler(options);
    EXPECT_EQ(*sampler.sample(std::vector<float>{4, 3, 0}, std::vector<int32_t>{0, 2, 2}), 0);
    EXPECT_EQ(*sampler.sample(std::vector<float>{4, 3, 0}, std::vector<int32_t>{2, 0, 2}), 1);
}

TEST(Sampler, TheSeedDecides) {
    const std::vector<float> logits(50, 0.0f);
    const auto run = [&](uint64_t seed) {
        SamplerOptions options = plain(1);
        options.seed = seed;
        Sampler sampler(options);
        std::vector<int32_t> ids;
        for (int i = 0; i < 20; ++i) ids.push_back(*sampler.sample(logits, {}));
        return ids;
    };
    EXPECT_EQ(run(1), run(1));
    EXPECT_NE(run(1), run(2));
    // 50 equal tokens: the draw is the unit number times 50, in order of ids.
    RandomStream random(1);
    for (const int32_t id : run(1)) EXPECT_EQ(id, static_cast<int32_t>(random.next_unit() * 50));
}

// The cuts by selection equal cuts in a sorted ranking, on vocabularies of real size with ties.
TEST(Sampler, SelectionsAgreeWithSorting) {
    std::mt19937 random(3);
    std::normal_distribution<float> normal(0, 3);
    for (int round = 0; round < 6; ++round) {
        std::vector<float> logits(20000);
        for (float& logit : logits) logit = std::round(normal(random) * 64) / 64;
        SamplerOptions options = plain(1);
        options.top_k = std::vector<int>{0, 40, 3000, 0, 256, 257}[round];
        options.top_p = std::vector<float>{0.5f, 1, 0.8f, 0.9f, 0.95f, 0.3f}[round];

        std::vector<int32_t> ranking(logits.size());
        std::iota(ranking.begin(), ranking.end(), 0);
        std::stable_sort(ranking.begin(), ranking.end(), [&](int32_t a, int32_t b) { return logits[a] > logits[b]; });
        if (options.top_k > 0) ranking.resize(options.top_k);
        double total = 0;
        for (const int32_t id : ranking) total += std::exp(static_cast<double>(logits[id]));
        size_t kept = 0;
        for (double mass = 0; kept < ranking.size() && mass < options.top_p * total; ++kept) {
            mass += std::exp(static_cast<double>(logits[ranking[kept]]));
        }
        const std::set<int32_t> allowed(ranking.begin(), ranking.begin() + static_cast<ptrdiff_t>(kept));
        Sampler sampler(options);
        std::set<int32_t> seen;
        for (int i = 0; i < 300; ++i) {
            const int32_t id = *sampler.sample(logits, {});
            EXPECT_TRUE(allowed.contains(id)) << "round " << round << " id " << id;
            seen.insert(id);
        }
        EXPECT_GT(seen.size(), std::min<size_t>(kept, 100) / 2) << "round " << round;
    }
}

TEST(Sampler, OptionsOutOfRangeAreRefused) {
    EXPECT_TRUE(check_sampler_options({}));
    const auto refused = [](auto change) {
        SamplerOptions options;
        change(options);
        const Status status = check_sampler_options(options);
        return !status && status.error().kind == ErrorKind::usage;
    };
    EXPECT_TRUE(refused([](SamplerOptions& o) { o.temperature = -1; }));
    EXPECT_TRUE(refused([](SamplerOptions& o) { o.temperature = nan; }));
    EXPECT_TRUE(refused([](SamplerOptions& o) { o.top_k = -1; }));
    EXPECT_TRUE(refused([](SamplerOptions& o) { o.top_p = 0; }));
    EXPECT_TRUE(refused([](SamplerOptions& o) { o.top_p = 1.5f; }));
    EXPECT_TRUE(refused([](SamplerOptions& o) { o.min_p = -0.1f; }));
    EXPECT_TRUE(refused([](SamplerOptions& o) { o.repeat_penalty = 0; }));
    EXPECT_TRUE(refused([](SamplerOptions& o) { o.repeat_window = -1; }));
}

}  // namespace
}  // namespace octavo
