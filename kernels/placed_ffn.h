// A feed-forward block as a device keeps it: its matrices and their scales in one piece, so that blocks of one shape
// lie at equal distances.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/base/memory.h"
#include "kernels/matrix.h"

namespace octavo {

// An array and its place among others.
struct ArrayCopy {
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    int64_t bytes = 0;
};

int64_t placed_ffn_bytes(const FfnMatrices& ffn);
// The distance at which these can lie one after the other: bytes of the largest. 0: there are none.
int64_t placed_ffn_distance(std::span<const FfnMatrices> blocks);
// Where its arrays go when it is to lie at `to` [placed_ffn_bytes], in ascending order, after what `copies` has; what
// comes back views that place.
FfnMatrices lay_out_ffn(const FfnMatrices& ffn, std::byte* to, std::vector<ArrayCopy>& copies);
// Copies it to `to` [placed_ffn_bytes] in `memory`; what comes back views that.
FfnMatrices place_ffn(const FfnMatrices& ffn, std::byte* to, Memory& memory);

// Its shape without its values.
FfnMatrices absent_ffn(FfnMatrices ffn);

// [experts][3], as Moe::expert_scales has them.
std::vector<float> expert_scales_of(std::span<const FfnMatrices> experts);

}  // namespace octavo
