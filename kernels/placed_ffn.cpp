#include "kernels/placed_ffn.h"

#include <algorithm>

namespace octavo {
namespace {

constexpr int64_t kAlignment = 256;

int64_t padded(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// Calls visit(array, bytes) for the values of every matrix, and for their scales where they lie apart.
template <class Visit>
void visit_arrays(FfnMatrices& ffn, Visit&& visit) {
    for (Matrix* w : {&ffn.gate, &ffn.up, &ffn.down}) {
        visit(w->data, w->bytes());
        if (w->scale_bytes() > 0) visit(w->block_scales, w->scale_bytes());
    }
}

}  // namespace

int64_t placed_ffn_bytes(const FfnMatrices& ffn) {
    FfnMatrices views = ffn;
    int64_t sum = 0;
    visit_arrays(views, [&](const std::byte*&, int64_t bytes) { sum += padded(bytes); });
    return sum;
}

int64_t placed_ffn_distance(std::span<const FfnMatrices> blocks) {
    int64_t most = 0;
    for (const FfnMatrices& block : blocks) most = std::max(most, placed_ffn_bytes(block));
    return most;
}

FfnMatrices lay_out_ffn(const FfnMatrices& ffn, std::byte* to, std::vector<ArrayCopy>& copies) {
    FfnMatrices placed = ffn;
    visit_arrays(placed, [&](const std::byte*& array, int64_t bytes) {
        copies.push_back({array, to, bytes});
        array = to;
        to += padded(bytes);
    });
    return placed;
}

FfnMatrices place_ffn(const FfnMatrices& ffn, std::byte* to, Memory& memory) {
    std::vector<ArrayCopy> copies;
    const FfnMatrices placed = lay_out_ffn(ffn, to, copies);
    for (const ArrayCopy& copy : copies) memory.upload(copy.to, copy.from, static_cast<size_t>(copy.bytes));
    return placed;
}

FfnMatrices absent_ffn(FfnMatrices ffn) {
    visit_arrays(ffn, [](const std::byte*& array, int64_t) { array = nullptr; });
    return ffn;
}

std::vector<float> expert_scales_of(std::span<const FfnMatrices> experts) {
    std::vector<float> scales;
    for (const FfnMatrices& e : experts) scales.insert(scales.end(), {e.gate.scale, e.up.scale, e.down.scale});
    return scales;
}

}  // namespace octavo
