// A GGUF model as a whole: one file, or all shards of a split one ("name-00001-of-00003.gguf").
//
// Errors: parse errors carry the shard's file name when there are several. Threads: see GgufFile.
// The mapped files are kept alive by `owners`; views in metadata and tensors point into them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "kernels/base/error.h"
#include "models/gguf/metadata.h"
#include "models/tensors/tensor_store.h"

namespace octavo {

struct GgufCheckpoint {
    GgufMetadata metadata;  // of the first shard
    TensorStore tensors;    // of all shards
    std::vector<std::shared_ptr<const void>> owners;
};

// Any shard of a split model opens the whole.
Result<GgufCheckpoint> open_gguf(const std::filesystem::path& path);
// Bytes in memory can only be a whole model: a shard is refused.
Result<GgufCheckpoint> open_gguf(std::span<const std::byte> bytes);

}  // namespace octavo
