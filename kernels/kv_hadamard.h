// The rotation of KV rows: an orthonormal Walsh-Hadamard transform, its own inverse. Rows whose length is not a power
// of two up to 256 are rotated in the largest groups that are one and divide the length.
//
// float32, stages in the order 1, 2, 4, ..., then one factor: every back end gets the same bits.
// Source: the design's kv_formats, section 3.
#pragma once

#include <cmath>

namespace octavo {

constexpr int hadamard_group(int length) {
    int group = 1;
    while (group < 256 && length % (group * 2) == 0) group *= 2;
    return group;
}

// x[length], in place.
inline void hadamard(float* x, int length) {
    const int group = hadamard_group(length);
    const float factor = 1.0f / std::sqrt(static_cast<float>(group));
    for (float* g = x; g < x + length; g += group) {
        for (int half = 1; half < group; half *= 2) {
            for (int i = 0; i < group; ++i) {
                if ((i & half) != 0) continue;
                const float a = g[i];
                const float b = g[i + half];
                g[i] = a + b;
                g[i + half] = a - b;
            }
        }
        for (int i = 0; i < group; ++i) g[i] *= factor;
    }
}

}  // namespace octavo
