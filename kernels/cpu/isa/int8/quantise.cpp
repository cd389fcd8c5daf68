#include "kernels/cpu/isa/int8/quantise.h"

#include "kernels/cpu/isa/int8/simd_int.h"
#include "kernels/cpu/isa/simd_select.h"

namespace octavo::OCTAVO_ISA {

void quantise(const float* x, int64_t count, Int8Block* blocks) {
    constexpr int kVectors = kInt8Block / kLanes;
    for (int64_t i = 0; i < count; i += kInt8Block, ++blocks) {
        VecF values[kVectors];
        VecF largest = zero();
        VecF not_finite = zero();  // 0, or NaN where a value is infinite or NaN
        for (int v = 0; v < kVectors; ++v) {
            values[v] = load(x + i + v * kLanes);
            largest = max(largest, abs(values[v]));
            not_finite = fma(values[v], zero(), not_finite);
        }
        // Divided, not multiplied with the inverse: that overflows where activations are tiny.
        const float scale = reduce_max(largest) / 127.0f + reduce_add(not_finite);
        const VecF divisor = set1(scale > 0 ? scale : 1.0f);
        int32_t half_sums[2] = {};
        for (int v = 0; v < kVectors; ++v) {
            const VecF rounded = round_nearest(div(values[v], divisor));
            const VecI codes = to_int(max(min(rounded, set1(127.0f)), set1(-127.0f)));
            store_i8(blocks->codes + v * kLanes, codes);
            half_sums[v * kLanes / 16] += reduce_add(codes);
        }
        blocks->scale = scale;
        blocks->negative_sum = static_cast<float>(-(half_sums[0] + half_sums[1]));
        blocks->negative_half_sums[0] = static_cast<float>(-half_sums[0]);
        blocks->negative_half_sums[1] = static_cast<float>(-half_sums[1]);
    }
}

}  // namespace octavo::OCTAVO_ISA
