// One GGUF v3 file, read from bytes: header, metadata, tensor records. Every count, length, offset and product is
// checked against the bytes that are really there before it is used; what is returned can be trusted to lie inside.
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

struct GgufFile {
    GgufMetadata metadata;
    std::vector<StoredTensor> tensors;  // in file order; data lies inside the given bytes, tensors never overlap
};

Result<GgufFile> parse_gguf(std::span<const std::byte> bytes);

}  // namespace octavo
