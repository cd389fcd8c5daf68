// Activations that are made up: families that KV formats handle differently.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "runtime/measure/kv_error.h"
#include "runtime/sampler.h"

namespace octavo {
namespace {

constexpr std::array<int, 4> kOutlierChannels = {70, 121, 180, 233};

// The shape of every made-up layer: that of the 35B model's rows.
constexpr int kHeads = 4;
constexpr int kKvHeads = 2;
constexpr int kHeadDim = 256;

// Scores of a query are about normal with this deviation, so that it reads some tens out of a thousand cells.
constexpr float kScoreDeviation = 2;

struct Family {
    std::string_view name;
    int freedom;    // degrees of freedom of Student's t; 0: Gaussian
    double spread;  // of K's outlier channels; 0: none
};
constexpr Family kFamilies[] = {{"gaussian", 0, 0},   {"kurtotic", 11, 0},    {"heavy tails", 5, 0},
                                {"outliers 6", 0, 6}, {"outliers 20", 0, 20}, {"outliers 75", 0, 75}};
constexpr auto kFamilyNames = [] {
    std::array<std::string_view, std::size(kFamilies)> names;
    for (size_t i = 0; i < names.size(); ++i) names[i] = kFamilies[i].name;
    return names;
}();

double gaussian(RandomStream& random) {
    const double radius = std::sqrt(-2 * std::log(1 - random.next_unit()));
    return radius * std::cos(2 * std::numbers::pi * random.next_unit());
}

double student_t(RandomStream& random, int freedom) {
    const double value = gaussian(random);
    if (freedom == 0) return value;
    double sum = 0;
    for (int i = 0; i < freedom; ++i) {
        const double g = gaussian(random);
        sum += g * g;
    }
    return value / std::sqrt(sum / freedom);
}

std::vector<float> random_rows(RandomStream& random, int64_t count, int freedom, float size) {
    std::vector<float> rows(static_cast<size_t>(count));
    for (float& value : rows) value = size * static_cast<float>(student_t(random, freedom));
    return rows;
}

// Root mean square of every channel of one KV head of K.
std::vector<double> channel_rms(const KvActivations& a, int head) {
    std::vector<double> rms(static_cast<size_t>(a.head_dim));
    for (int64_t cell = 0; cell < a.cells; ++cell) {
        const float* row = a.k.data() + (cell * a.kv_heads + head) * a.head_dim;
        for (size_t c = 0; c < rms.size(); ++c) rms[c] += static_cast<double>(row[c]) * static_cast<double>(row[c]);
    }
    for (double& value : rms) value = std::sqrt(value / static_cast<double>(a.cells));
    return rms;
}

// Of the largest outlier channel to the head's median.
double outlier_ratio(const KvActivations& a, int head) {
    const std::vector<double> rms = channel_rms(a, head);
    double largest = 0;
    for (const int channel : kOutlierChannels) largest = std::max(largest, rms[static_cast<size_t>(channel)]);
    std::vector<double> sorted = rms;
    std::nth_element(sorted.begin(), sorted.begin() + a.head_dim / 2, sorted.end());
    return largest / sorted[static_cast<size_t>(a.head_dim / 2)];
}

void scale_channels(std::vector<float>& rows, int head_dim, float factor) {
    for (size_t at = 0; at < rows.size(); at += static_cast<size_t>(head_dim)) {
        for (const int channel : kOutlierChannels) rows[at + static_cast<size_t>(channel)] *= factor;
    }
}

}  // namespace

std::span<const std::string_view> kv_error_families() { return kFamilyNames; }

Result<KvActivations> make_activations(std::string_view family, int64_t cells, int64_t queries, uint64_t seed) {
    const auto* found = std::find_if(std::begin(kFamilies), std::end(kFamilies),
                                     [family](const Family& known) { return known.name == family; });
    if (found == std::end(kFamilies)) {
        return Error{ErrorKind::usage,
                     fmt::format("There is no family \"{}\"; there are {}.", family, fmt::join(kFamilyNames, ", "))};
    }
    if (cells < 1 || queries < 0 || queries > cells) {
        return Error{ErrorKind::usage,
                     fmt::format("{} cells with {} queries were asked for; 1 or more cells and at most as many queries "
                                 "are possible.",
                                 cells, queries)};
    }
    RandomStream random(seed);
    KvActivations a{std::string(family), kHeads, kKvHeads, kHeadDim, cells, queries, {}, {}, {}};
    a.k = random_rows(random, cells * kKvHeads * kHeadDim, found->freedom, 1);
    a.v = random_rows(random, cells * kKvHeads * kHeadDim, found->freedom, 1);
    a.q = random_rows(random, queries * kHeads * kHeadDim, 0, kScoreDeviation);
    if (found->spread > 0) return with_outliers(std::move(a), found->spread);
    return a;
}

Result<KvActivations> with_outliers(KvActivations a, double spread) {
    if (Status status = check_activations(a); !status) return status.error();
    if (a.head_dim <= kOutlierChannels.back() || !(spread > 0)) {
        return Error{ErrorKind::usage,
                     fmt::format("Outlier channels of spread {} were asked for; a spread above 0 and a "
                                 "head_dim above {} are needed, here it is {}.",
                                 spread, kOutlierChannels.back(), a.head_dim)};
    }
    double largest_ratio = 0;
    for (int head = 0; head < a.kv_heads; ++head) largest_ratio = std::max(largest_ratio, outlier_ratio(a, head));
    const auto factor = static_cast<float>(spread / largest_ratio);
    scale_channels(a.k, a.head_dim, factor);
    scale_channels(a.q, a.head_dim, 1 / factor);
    return a;
}

}  // namespace octavo
