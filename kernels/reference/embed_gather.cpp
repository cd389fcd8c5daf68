// Operations that only move values.
#include <algorithm>

#include "kernels/reference/reference.h"
#include "kernels/reference/scalar_math.h"

namespace octavo::reference {

void embed(const Matrix& table, std::span<const int32_t> ids, float* x) {
    for (const int32_t id : ids) {
        const std::vector<float> row = decode_row(table, id);
        x = std::transform(row.begin(), row.end(), x, [&](float value) { return table.scale * value; });
    }
}

void gather_columns(const float* x, int tokens, int64_t x_stride, std::span<const int32_t> source, float* y) {
    for (int t = 0; t < tokens; ++t, x += x_stride) {
        for (const int32_t column : source) *y++ = x[column];
    }
}

}  // namespace octavo::reference
