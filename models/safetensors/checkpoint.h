// A folder as Hugging Face lays it out: config.json, weights in one or several safetensors files, texts beside them.
//
// Errors: one sentence with the file's name inside the folder. Threads: pure functions.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/error.h"
#include "models/tensors/tensor_store.h"

namespace octavo {

struct SafetensorsCheckpoint {
    TensorStore tensors;
    std::vector<std::shared_ptr<const void>> owners;  // mapped files that the tensors point into
};

// Whether the folder holds a checkpoint at all; says what else it holds where people take it for one.
Status check_checkpoint_folder(const std::filesystem::path& folder);

// model.safetensors, or the files that model.safetensors.index.json names; they may be missing.
Result<std::vector<std::string>> weight_files(const std::filesystem::path& folder);
bool is_missing(const std::filesystem::path& folder, const std::string& file);

// All of those files.
Result<SafetensorsCheckpoint> open_safetensors(const std::filesystem::path& folder);

// A text file of the folder; no value where it does not exist. Files above `limit` bytes are refused.
Result<std::optional<std::string>> read_text(const std::filesystem::path& folder, std::string_view file, size_t limit);

}  // namespace octavo
