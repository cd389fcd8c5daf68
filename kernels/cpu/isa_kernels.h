// The table through which the fast CPU back end calls code that is compiled once per instruction set. Everything here
// is raw pointers and plain numbers: see the trap note in isa/simd.h.
//
// Files of kernels/cpu/ (compiled for any machine) split an operation into tasks; the functions here do one task's
// arithmetic.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/weight_type.h"

namespace octavo {

struct IsaKernels {};

namespace generic {
const IsaKernels& isa_kernels();
}
namespace avx2 {
const IsaKernels& isa_kernels();
}
namespace avx512 {
const IsaKernels& isa_kernels();
}

}  // namespace octavo
