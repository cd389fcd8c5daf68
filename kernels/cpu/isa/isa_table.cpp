#include "kernels/cpu/isa_kernels.h"

namespace octavo::OCTAVO_ISA {

const IsaKernels& isa_kernels() {
    static constexpr IsaKernels table = {};
    return table;
}

}  // namespace octavo::OCTAVO_ISA
