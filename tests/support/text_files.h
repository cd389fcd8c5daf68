// Test data as text.
#pragma once

#include <gtest/gtest.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

namespace octavo::test {

inline std::optional<std::string> file_text(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) return std::nullopt;
    return std::string(std::istreambuf_iterator<char>(in), {});
}

// A file below tests/fixtures; empty, with a test failure, if it cannot be read.
inline std::string fixture_text(std::string_view name) {
    const std::filesystem::path path = std::filesystem::path(OCTAVO_SOURCE_DIR) / "tests/fixtures" / name;
    const std::optional<std::string> text = file_text(path);
    if (!text) ADD_FAILURE() << "cannot read " << path;
    return text.value_or("");
}

// A file below the folder `shared` beside the source tree; no value where that is absent (then skip).
inline std::optional<std::string> shared_text(std::string_view name) {
    return file_text(std::filesystem::path(OCTAVO_SOURCE_DIR).parent_path() / "shared" / name);
}

}  // namespace octavo::test
