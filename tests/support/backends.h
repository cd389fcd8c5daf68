// Every back end of this build that this machine can run, for tests that compare them with the reference.
// They all take arrays in ordinary memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.h"

namespace octavo::test {

struct BackendUnderTest {
    std::string name;  // letters, digits and '_': part of a test's name
    std::unique_ptr<Backend> (*make)();
};

std::vector<BackendUnderTest> backends_under_test();

}  // namespace octavo::test
