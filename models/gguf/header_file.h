// The header of a GGUF file on a disk, read without its tensors: a list of models must not map or read gigabytes, and
// a file may still be growing.
//
// Errors: as parse_gguf_header, or ErrorKind::io. Memory: the header's own bytes, 64 MiB at most; files with more are
// refused. Only regular files are read. Threads: it waits for the disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "kernels/base/error.h"
#include "models/gguf/gguf_file.h"

namespace octavo {

struct GgufHeaderFile {
    GgufHeaderFile() = default;
    GgufHeaderFile(GgufHeaderFile&&) = default;
    GgufHeaderFile& operator=(GgufHeaderFile&&) = default;

    std::vector<std::byte> bytes;  // the header points into them
    GgufHeader header;
    uint64_t file_bytes = 0;  // of the file as it is; less than header.file_bytes(): it is cut off
};

Result<GgufHeaderFile> read_gguf_header(const std::filesystem::path& path);

}  // namespace octavo
