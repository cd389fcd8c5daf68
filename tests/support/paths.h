// Where tests find their data.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "kernels/base/error.h"

namespace octavo::test {

// tests/fixtures/<name> of this tree.
std::filesystem::path fixture_path(std::string_view name);

// <name> below the folder `shared` beside the source tree (models and fixtures too large for it). An error is the
// reason to skip:
//   const Result<std::filesystem::path> file = shared_path("fixtures/checkpoints/index.json");
//   if (!file) GTEST_SKIP() << file.error().message;
Result<std::filesystem::path> shared_path(std::string_view name);

// A whole file, or an error that names it.
Result<std::vector<std::byte>> read_file(const std::filesystem::path& path);

}  // namespace octavo::test
