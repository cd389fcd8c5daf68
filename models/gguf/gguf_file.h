// One GGUF v3 file, read from bytes: header, metadata, tensor records. Every count, length, offset and product is
// checked against the bytes that are really there before it is used; what is returned can be trusted to lie inside.
// The header alone can be read without the tensors' bytes (header_file.h reads it from a disk).
//
// Errors: one sentence that names the key, tensor or header field. Memory: bounded (65536 keys, 65536 tensors),
// whatever the file claims. Threads: pure function. The bytes must outlive the result.
// Source: the published GGUF description (little-endian, version 3). Non-goals: versions 1 and 2, big-endian files.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/base/error.h"
#include "models/gguf/metadata.h"
#include "models/tensors/tensor_store.h"

namespace octavo {

struct GgufRecord {
    StoredTensor tensor;  // without data
    uint64_t offset = 0;  // from data_start
    uint64_t bytes = 0;
};

// What stands in front of the tensors' bytes. Records may overlap and go beyond the file here.
struct GgufHeader {
    GgufMetadata metadata;
    std::vector<GgufRecord> records;  // in file order
    uint64_t alignment = 0;
    uint64_t data_start = 0;  // from the start of the file

    uint64_t file_bytes() const;  // that the records need, saturated
};

struct GgufFile {
    GgufMetadata metadata;
    std::vector<StoredTensor> tensors;  // in file order; data lies inside the given bytes, tensors never overlap
};

// `bytes`: the start of a file, the whole header at least.
Result<GgufHeader> parse_gguf_header(std::span<const std::byte> bytes);
Result<GgufFile> parse_gguf(std::span<const std::byte> bytes);

}  // namespace octavo
