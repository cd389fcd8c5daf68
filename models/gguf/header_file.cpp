#include "models/gguf/header_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <system_error>

namespace octavo {
namespace {

namespace fs = std::filesystem;

// Small files first; a vocabulary of 250,000 tokens takes about 11 MiB.
constexpr uint64_t kSteps[] = {uint64_t{1} << 18, uint64_t{1} << 24, uint64_t{1} << 26};

Error cannot_read(const fs::path& path) {
    return {ErrorKind::io, fmt::format("Cannot read {}: check the permissions.", path.string())};
}

// Reads on to `wanted` bytes; fewer where the file ends before.
bool read_to(std::ifstream& in, std::vector<std::byte>& bytes, uint64_t wanted) {
    const size_t had = bytes.size();
    bytes.resize(wanted);
    in.read(reinterpret_cast<char*>(bytes.data() + had), static_cast<std::streamsize>(wanted - had));
    bytes.resize(had + static_cast<size_t>(in.gcount()));
    return !in.bad();
}

}  // namespace

Result<GgufHeaderFile> read_gguf_header(const fs::path& path) {
    std::error_code error;
    if (!fs::is_regular_file(path, error)) {
        return Error{ErrorKind::io, fmt::format("Cannot read {}: it is not a regular file.", path.string())};
    }
    GgufHeaderFile file;
    file.file_bytes = fs::file_size(path, error);
    std::ifstream in(path, std::ios::binary);
    if (error || !in) return cannot_read(path);
    for (const uint64_t step : kSteps) {
        if (!read_to(in, file.bytes, std::min(step, file.file_bytes))) return cannot_read(path);
        Result<GgufHeader> header = parse_gguf_header(file.bytes);
        if (header) {
            file.header = std::move(*header);
            return file;
        }
        const bool whole = file.bytes.size() < step || step == file.file_bytes;
        if (whole || step == kSteps[std::size(kSteps) - 1]) return header.error();
    }
    return cannot_read(path);
}

}  // namespace octavo
