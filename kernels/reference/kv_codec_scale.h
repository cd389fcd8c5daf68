// The steps that several KV codecs share. Private to kernels/reference.
#pragma once

#include <cmath>
#include <optional>

#include "kernels/base/half.h"

namespace octavo::kv_codec {

// Largest magnitude of x[count], or nothing when a value is not finite.
inline std::optional<float> largest_magnitude(const float* x, int count) {
    float largest = 0;
    for (int i = 0; i < count; ++i) {
        if (!std::isfinite(x[i])) return std::nullopt;
        largest = std::fmax(largest, std::fabs(x[i]));
    }
    return largest;
}

// The first value of the largest magnitude, with its sign.
inline float signed_extreme(const float* x, int count) {
    float extreme = 0;
    for (int i = 0; i < count; ++i) {
        if (std::fabs(x[i]) > std::fabs(extreme)) extreme = x[i];
    }
    return extreme;
}

inline bool fits_f16(float scale) { return std::isfinite(f16_to_f32(f32_to_f16(scale))); }

// round-half-away(x / d), within [low, high]; d = 0 gives 0.
inline int quantise(float x, float d, int low, int high) {
    if (d == 0) return 0;
    const float code = std::round(x / d);
    if (code < static_cast<float>(low)) return low;
    if (code > static_cast<float>(high)) return high;
    return static_cast<int>(code);
}

// The scale that makes |x - d q| smallest over count values, q as given by `level(i)`.
template <class Level>
float least_squares_scale(const float* x, int count, Level level) {
    float xq = 0;
    float qq = 0;
    for (int i = 0; i < count; ++i) {
        const float q = level(i);
        xq += x[i] * q;
        qq += q * q;
    }
    return qq == 0 ? 0.0f : xq / qq;
}

}  // namespace octavo::kv_codec
