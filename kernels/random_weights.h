// Random weights of any type, for tests, checks of kernels and made-up models: every code pattern can occur, scales are
// sane.
//
// Threads: pure function; the same seed gives the same bytes on every machine.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/weight_type.h"

namespace octavo {

// Fills `blocks` consecutive blocks with values of about -largest to largest (0: all values are zero). Plain numbers
// are uniform; block types get random codes and sub-block scales under one scale, the nearest that the type has.
// block_scales: of types that keep them apart, WeightTypeSpec::scale_bytes for each block.
void fill_random_weights(WeightType type, int64_t blocks, float largest, uint64_t seed, std::byte* data,
                         std::byte* block_scales = nullptr);

}  // namespace octavo
