#include "models/hybrid/rope.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "models/tensors/quote_name.h"

namespace octavo {
namespace {

// The (fractional) dimension whose wave turns `turns` times within the original context.
double dimension_of_turns(const RopeSettings& settings, double turns) {
    return settings.dims * std::log(settings.original_context / (2 * std::numbers::pi * turns)) /
           (2 * std::log(settings.theta));
}

// 0: the frequency stays, 1: it is divided by the factor.
double yarn_ramp(const RopeSettings& settings, int index) {
    const double last = settings.dims - 1;
    const double low = std::clamp(std::floor(dimension_of_turns(settings, settings.beta_fast)), 0.0, last);
    const double high = std::clamp(std::ceil(dimension_of_turns(settings, settings.beta_slow)), 0.0, last);
    return std::clamp((index - low) / std::max(high - low, 0.001), 0.0, 1.0);
}

double interpolated_share(const RopeSettings& settings, int index) {
    switch (settings.scaling) {
        case RopeScaling::none: return 0;
        case RopeScaling::linear: return 1;
        case RopeScaling::yarn: return yarn_ramp(settings, index);
    }
    return 0;
}

}  // namespace

Result<RopeScaling> rope_scaling_of(std::string_view type, std::string_view key) {
    if (type == "none" || type == "default") return RopeScaling::none;
    if (type == "linear") return RopeScaling::linear;
    if (type == "yarn") return RopeScaling::yarn;
    return Error{ErrorKind::input,
                 fmt::format("'{}' is {}; only none, linear and yarn are supported", key, quote_name(type))};
}

RopeTable make_rope_table(const RopeSettings& settings) {
    RopeTable table;
    for (int j = 0; j < settings.dims / 2; ++j) {
        const double plain = std::pow(settings.theta, -2.0 * j / settings.dims);
        const double share = interpolated_share(settings, j);
        table.frequencies.push_back(plain / settings.factor * share + plain * (1 - share));
    }
    if (settings.scaling == RopeScaling::yarn) {
        table.scale = static_cast<float>(settings.attention_factor * (1 + 0.1 * std::log(settings.factor)));
    }
    return table;
}

}  // namespace octavo
