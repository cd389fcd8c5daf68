// The codebook constants of the KV formats against what they claim to be: the Lloyd-Max quantiser of a unit Gaussian,
// fitted here to a million samples.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <vector>

#include "kernels/kv_codec.h"

namespace octavo {
namespace {

// A million Gaussian values and their mirror images, ascending, with sums of everything before each.
class Samples {
  public:
    Samples() {
        std::mt19937_64 random(20);
        std::normal_distribution<double> gaussian;
        for (int i = 0; i < 1'000'000; ++i) {
            const double value = gaussian(random);
            values_.push_back(value);
            values_.push_back(-value);
        }
        std::sort(values_.begin(), values_.end());
        sums_.push_back(0);
        for (const double value : values_) sums_.push_back(sums_.back() + value);
    }

    double mean_between(double low, double high) const {
        const size_t first = index_of(low);
        const size_t end = index_of(high);
        return (sums_[end] - sums_[first]) / static_cast<double>(end - first);
    }

  private:
    size_t index_of(double bound) const {
        return static_cast<size_t>(std::lower_bound(values_.begin(), values_.end(), bound) - values_.begin());
    }

    std::vector<double> values_;
    std::vector<double> sums_;
};

// Lloyd's iteration from evenly spread levels: boundaries in the middle, levels at the means.
std::vector<double> lloyd_max(const Samples& samples, int count) {
    std::vector<double> levels;
    for (int i = 0; i < count; ++i) levels.push_back(-2.5 + 5.0 * i / (count - 1));
    for (int round = 0; round < 2000; ++round) {
        std::vector<double> bounds = {-HUGE_VAL};
        for (int i = 0; i + 1 < count; ++i) {
            const auto at = static_cast<size_t>(i);
            bounds.push_back((levels[at] + levels[at + 1]) / 2);
        }
        bounds.push_back(HUGE_VAL);
        for (size_t i = 0; i < levels.size(); ++i) levels[i] = samples.mean_between(bounds[i], bounds[i + 1]);
    }
    return levels;
}

// The outer cells hold few samples, so their means are less certain.
void expect_levels(std::span<const float> constants, const std::vector<double>& fitted) {
    for (size_t i = 0; i < fitted.size(); ++i) {
        EXPECT_NEAR(constants[i], fitted[i], 0.001 + 0.008 * std::fabs(fitted[i])) << "level " << i;
    }
}

TEST(KvCodebook, ConstantsAreTheLloydMaxQuantiserOfAGaussian) {
    const Samples samples;
    const std::vector<double> q2 = lloyd_max(samples, 4);
    expect_levels(kQ2Levels, q2);
    EXPECT_NEAR(kQ2Boundary, (q2[2] + q2[3]) / 2, 0.002);
    expect_levels(kQ4NlLevels, lloyd_max(samples, 16));
}

}  // namespace
}  // namespace octavo
