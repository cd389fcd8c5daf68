// A device without a GPU: the CPU's kernels on memory that counts as a device's, with a budget, pages and scratch of
// its own, and tokens picked by sorting.
#pragma once

#include <memory>

#include "kernels/backend.h"

namespace octavo::test {

struct FakeDeviceOptions {
    int64_t budget_bytes = 0;  // 0: none
    int64_t device_bytes = int64_t{1} << 40;
};
std::unique_ptr<Backend> fake_device(const FakeDeviceOptions& options);

}  // namespace octavo::test
