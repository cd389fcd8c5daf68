#include "tests/support/paths.h"

#include <fmt/format.h>
#include <fstream>

namespace octavo::test {

std::filesystem::path fixture_path(std::string_view name) {
    return std::filesystem::path(OCTAVO_SOURCE_DIR) / "tests/fixtures" / name;
}

Result<std::filesystem::path> shared_path(std::string_view name) {
    const std::filesystem::path path = std::filesystem::path(OCTAVO_SOURCE_DIR).parent_path() / "shared" / name;
    if (std::filesystem::exists(path)) return path;
    return Error{ErrorKind::io,
                 fmt::format("{} is not there: this test needs data that is not part of the tree", path.string())};
}

Result<std::vector<std::byte>> read_file(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary | std::ios::ate);
    const std::streamoff size = in.tellg();
    if (!in || size < 0) return Error{ErrorKind::io, fmt::format("cannot read {}", path.string())};
    std::vector<std::byte> bytes(static_cast<size_t>(size));
    in.seekg(0);
    in.read(reinterpret_cast<char*>(bytes.data()), size);
    if (!in) return Error{ErrorKind::io, fmt::format("cannot read {}", path.string())};
    return bytes;
}

}  // namespace octavo::test
