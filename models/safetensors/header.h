// One safetensors file, read from bytes, and the list of files of a sharded checkpoint.
//
// Everything in the header is checked before use: sizes, offsets, overlaps; returned data lies inside the bytes.
// The header is walked once without building a document, so memory follows what it really holds.
// Errors: one sentence that names the tensor or file. Threads: pure functions. The bytes must outlive the result.
// Source: the published safetensors description (8-byte header length, JSON header, data).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/error.h"
#include "models/tensors/tensor_store.h"

namespace octavo {

Result<std::vector<StoredTensor>> parse_safetensors(std::span<const std::byte> bytes);

// File names that a model.safetensors.index.json mentions, each once, ascending; none leaves the folder.
Result<std::vector<std::string>> parse_safetensors_index(std::string_view json);

}  // namespace octavo
