// The rotation of kernels/kv_hadamard.h, to the bit: each butterfly is one addition and one subtraction, whatever runs
// beside it.
#pragma once

#include "kernels/cpu/isa/simd.h"

namespace octavo::OCTAVO_ISA {

// x[length] in place.
void rotate_row(float* x, int length);

}  // namespace octavo::OCTAVO_ISA
