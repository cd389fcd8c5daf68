#include "tests/support/compare.h"

#include <fmt/format.h>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

namespace octavo::test {
namespace {

// "[token 3, row 17]"
std::string position(int64_t index, const std::vector<Dimension>& dimensions) {
    std::string text;
    for (auto dimension = dimensions.rbegin(); dimension != dimensions.rend(); ++dimension) {
        const std::string part = fmt::format("{} {}", dimension->name, index % dimension->size);
        text = text.empty() ? part : part + ", " + text;
        index /= dimension->size;
    }
    return "[" + text + "]";
}

// How far beyond the bound, as a factor of it; infinite for NaN and the like, 0 when inside.
double excess(double got, double want, double bound) {
    if (got == want) return 0;
    const double difference = std::fabs(got - want);
    if (difference <= bound && std::isfinite(difference)) return 0;
    return std::isfinite(difference) && bound > 0 ? difference / bound : std::numeric_limits<double>::infinity();
}

testing::AssertionResult size_mismatch(size_t got, size_t want) {
    return testing::AssertionFailure() << fmt::format("{} values, {} expected", got, want);
}

template <class Bound>
testing::AssertionResult compare(std::span<const float> got, std::span<const float> want, Bound bound,
                                 const std::vector<Dimension>& dimensions) {
    if (got.size() != want.size()) return size_mismatch(got.size(), want.size());
    size_t worst = 0;
    size_t outside = 0;
    double worst_excess = 0;
    for (size_t i = 0; i < got.size(); ++i) {
        const double beyond = excess(got[i], want[i], bound(i));
        if (beyond == 0) continue;
        ++outside;
        if (beyond > worst_excess) {
            worst_excess = beyond;
            worst = i;
        }
    }
    if (outside == 0) return testing::AssertionSuccess();
    return testing::AssertionFailure() << fmt::format(
               "at {}: got {:.9g}, want {:.9g}, difference {:.3g}, bound {:.3g} ({} of {} values are beyond theirs)",
               position(static_cast<int64_t>(worst), dimensions), got[worst], want[worst],
               std::fabs(static_cast<double>(got[worst]) - want[worst]), bound(worst), outside, got.size());
}

}  // namespace

testing::AssertionResult within_bounds(std::span<const float> got, std::span<const float> want,
                                       std::span<const double> bounds, const std::vector<Dimension>& dimensions) {
    if (bounds.size() != want.size()) return size_mismatch(bounds.size(), want.size()) << " (bounds)";
    return compare(
        got, want, [&](size_t i) { return bounds[i]; }, dimensions);
}

testing::AssertionResult within(std::span<const float> got, std::span<const float> want, double bound,
                                const std::vector<Dimension>& dimensions) {
    return compare(
        got, want, [&](size_t) { return bound; }, dimensions);
}

testing::AssertionResult same_bits(std::span<const float> got, std::span<const float> want,
                                   const std::vector<Dimension>& dimensions) {
    if (got.size() != want.size()) return size_mismatch(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) {
        const uint32_t got_bits = std::bit_cast<uint32_t>(got[i]);
        const uint32_t want_bits = std::bit_cast<uint32_t>(want[i]);
        if (got_bits == want_bits) continue;
        return testing::AssertionFailure()
               << fmt::format("at {}: got {:.9g} (bits {:08x}), want {:.9g} (bits {:08x})",
                              position(static_cast<int64_t>(i), dimensions), got[i], got_bits, want[i], want_bits);
    }
    return testing::AssertionSuccess();
}

}  // namespace octavo::test
