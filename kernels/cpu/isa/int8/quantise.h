#pragma once

#include "kernels/cpu/int8_kernels.h"

namespace octavo::OCTAVO_ISA {

// Rounds x[count] to count / 32 blocks.
void quantise(const float* x, int64_t count, Int8Block* blocks);

}  // namespace octavo::OCTAVO_ISA
