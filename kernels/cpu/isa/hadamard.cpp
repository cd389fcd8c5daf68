#include "kernels/cpu/isa/hadamard.h"

namespace octavo::OCTAVO_ISA {
namespace {

// The lanes of x, each in the place of the lane whose index differs in bit Half.
template <int Half>
VecF swap_lanes(VecF x) {
#if defined(__AVX512F__)
    if constexpr (Half == 1) return _mm512_permute_ps(x, 0xb1);
    if constexpr (Half == 2) return _mm512_permute_ps(x, 0x4e);
    if constexpr (Half == 4) return _mm512_shuffle_f32x4(x, x, 0xb1);
    return _mm512_shuffle_f32x4(x, x, 0x4e);
#elif defined(__AVX2__)
    if constexpr (Half == 1) return _mm256_permute_ps(x, 0xb1);
    if constexpr (Half == 2) return _mm256_permute_ps(x, 0x4e);
    return _mm256_permute2f128_ps(x, x, 1);
#else
    if constexpr (Half == 1) return VecF{x[1], x[0], x[3], x[2]};
    return VecF{x[2], x[3], x[0], x[1]};
#endif
}

// a + b in the lane of a, a - b in the lane of b. The product with 1 or -1 is exact.
template <int Half>
VecF butterfly(VecF x) {
    float sign[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) sign[lane] = (lane & Half) != 0 ? -1.0f : 1.0f;
    return add(swap_lanes<Half>(x), mul(x, load(sign)));
}

template <int Half = 1>
VecF butterflies(VecF x) {
    if constexpr (Half == kLanes) {
        return x;
    } else {
        return butterflies<Half * 2>(butterfly<Half>(x));
    }
}

// The stages from `half` on, of a group of `group` values.
void later_stages(float* x, int group, int half) {
    for (; half < group; half *= 2) {
        for (int first = 0; first < group; first += 2 * half) {
            for (int i = first; i < first + half; i += kLanes) {
                const VecF a = load(x + i);
                const VecF b = load(x + i + half);
                store(x + i, add(a, b));
                store(x + i + half, sub(a, b));
            }
        }
    }
}

void rotate_small_group(float* x, int group, float factor) {
    for (int half = 1; half < group; half *= 2) {
        for (int i = 0; i < group; ++i) {
            if ((i & half) != 0) continue;
            const float a = x[i];
            const float b = x[i + half];
            x[i] = a + b;
            x[i + half] = a - b;
        }
    }
    for (int i = 0; i < group; ++i) x[i] *= factor;
}

}  // namespace

void rotate_row(float* x, int length) {
    int group = 1;
    while (group < 256 && length % (group * 2) == 0) group *= 2;
    const float factor = 1.0f / __builtin_sqrtf(static_cast<float>(group));
    for (float* g = x; g < x + length; g += group) {
        if (group < kLanes) {
            rotate_small_group(g, group, factor);
            continue;
        }
        for (int i = 0; i < group; i += kLanes) store(g + i, butterflies(load(g + i)));
        later_stages(g, group, kLanes);
        for (int i = 0; i < group; i += kLanes) store(g + i, mul(load(g + i), set1(factor)));
    }
}

}  // namespace octavo::OCTAVO_ISA
