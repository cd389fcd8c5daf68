// Every operation of the fast back end against the reference, on small random inputs with odd sizes: that the
// instruction set chosen for this machine computes what it should here. The full comparison, by input family, is in
// the tests.
//
// Threads: one caller.
#pragma once

#include <span>
#include <string_view>

#include "kernels/backend.h"
#include "runtime/engine.h"

namespace octavo {

struct KernelCheck {
    std::string_view name;
    Status (*run)(Backend& reference, Backend& tested);
};

std::span<const KernelCheck> kernel_checks();

// On the best instruction set of this machine, or its GPU in float32. The error names the place and both values.
Status check_kernel(const KernelCheck& check, const DeviceOptions& options);

}  // namespace octavo
