// Work on one row at a time: norms, activations, rotary embedding.
#include "kernels/cpu/isa/kernels.h"
#include "kernels/cpu/isa/simd.h"

namespace octavo::OCTAVO_ISA {

namespace {

// Calls body(i, load, store) for whole vectors and once for the rest of a row, so that each row operation is written
// once.
template <class Body>
void for_each_vector(int64_t count, Body body) {
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        body(
            i, [](const float* p) { return load(p); }, [](float* p, VecF x) { store(p, x); });
    }
    const int rest = static_cast<int>(count - i);
    if (rest > 0) {
        body(
            i, [rest](const float* p) { return load_first(p, rest); },
            [rest](float* p, VecF x) { store_first(p, x, rest); });
    }
}

// 1 / sqrt(mean of squares + eps). Four running sums, so that their additions overlap.
float inverse_rms(const float* x, int width, float eps) {
    VecF sum[4] = {zero(), zero(), zero(), zero()};
    int i = 0;
    for (; i + 4 * kLanes <= width; i += 4 * kLanes) {
        for (int j = 0; j < 4; ++j) {
            const VecF value = load(x + i + j * kLanes);
            sum[j] = fma(value, value, sum[j]);
        }
    }
    for_each_vector(width - i, [&](int64_t rest, auto load, auto) {
        const VecF value = load(x + i + rest);
        sum[0] = fma(value, value, sum[0]);
    });
    const float total = reduce_add(add(add(sum[0], sum[1]), add(sum[2], sum[3])));
    return 1.0f / __builtin_sqrtf(total / static_cast<float>(width) + eps);
}

}  // namespace

void silu_mul(const float* gate, const float* up, int rows, int width, float* y, int64_t y_stride) {
    for (int row = 0; row < rows; ++row, gate += width, up += width, y += y_stride) {
        for_each_vector(
            width, [&](int64_t i, auto load, auto store) { store(y + i, mul(silu(load(gate + i)), load(up + i))); });
    }
}

void add_scaled_rows(const float* x, const float* scale, const int32_t* y_rows, int rows, int width, float* y,
                     int64_t y_stride) {
    for (int row = 0; row < rows; ++row, x += width) {
        const VecF factor = set1(scale[row]);
        float* to = y + (y_rows != nullptr ? y_rows[row] : row) * y_stride;
        for_each_vector(
            width, [&](int64_t i, auto load, auto store) { store(to + i, fma(load(x + i), factor, load(to + i))); });
    }
}

void add_rows(const float* x, int rows, int width, float* y, int64_t y_stride) {
    for (int row = 0; row < rows; ++row, x += width, y += y_stride) {
        for_each_vector(width, [&](int64_t i, auto load, auto store) { store(y + i, add(load(y + i), load(x + i))); });
    }
}

void rms_norm(const float* x, const float* weight, int width, float eps, float* y) {
    const VecF scale = set1(inverse_rms(x, width, eps));
    for_each_vector(
        width, [&](int64_t i, auto load, auto store) { store(y + i, mul(mul(load(x + i), scale), load(weight + i))); });
}

void gated_norm(const float* x, const float* z, const float* weight, int width, float eps, float* y) {
    const VecF scale = set1(inverse_rms(x, width, eps));
    for_each_vector(width, [&](int64_t i, auto load, auto store) {
        store(y + i, mul(mul(mul(load(x + i), scale), load(weight + i)), silu(load(z + i))));
    });
}

void rope(float* head, const float* cos, const float* sin, int rope_dims) {
    const int half = rope_dims / 2;
    for_each_vector(half, [&](int64_t i, auto load, auto store) {
        const VecF a = load(head + i);
        const VecF b = load(head + half + i);
        const VecF c = load(cos + i);
        const VecF s = load(sin + i);
        store(head + i, sub(mul(a, c), mul(b, s)));
        store(head + half + i, fma(a, s, mul(b, c)));
    });
}

}  // namespace octavo::OCTAVO_ISA
