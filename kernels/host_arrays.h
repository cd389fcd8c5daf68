// A back end with memory of its own, driven with arrays in ordinary memory: every call copies its inputs over and its
// outputs back. For checks, measurements of error and tests, which prepare and look at values themselves; far too slow
// for a model.
//
// Errors: a call that cannot be staged, or fails on the device, leaves its outputs alone; `finish` says why.
// Non-goals: bytes between and behind the values that an operation names are not brought back.
#pragma once

#include <memory>

#include "kernels/backend.h"

namespace octavo {

// The same back end where its memory is ordinary memory already.
std::unique_ptr<Backend> on_host_arrays(std::unique_ptr<Backend> backend);

}  // namespace octavo
