// A model file, opened: description, weights, and its text side (model_text.h). Weights stay in the mapped file; small
// vectors are decoded to float32.
//
// Threads: immutable after opening, shared freely.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/base/job.h"
#include "models/hybrid/config.h"
#include "models/hybrid/weights.h"
#include "models/model_text.h"

namespace octavo {

struct Model : ModelText {
    std::string name;          // general.name, or the file's name
    std::string format;        // "GGUF v3", "safetensors"
    int64_t weight_bytes = 0;  // without draft blocks
    int64_t draft_bytes = 0;   // of draft (MTP) blocks: in the file, not read
    int64_t parameters = 0;
    std::map<std::string, int64_t> bytes_by_type;  // "Q8_0" -> bytes

    HybridConfig config;
    HybridWeights weights;
    std::vector<DraftWeights> drafts;  // views of the file

    // Owners of what the views above point into (mapped files, float arenas).
    std::vector<std::shared_ptr<const void>> owners;
};

// The error with the name of the file in front, where it does not say it already; always ends with one full stop.
Error in_model_file(const Error& error, const std::string& source);

// `path`: a GGUF file, or a folder with config.json and safetensors (or one of its files).
Result<std::shared_ptr<const Model>> open_model(const std::filesystem::path& path);
// A GGUF file that is already in memory for as long as the process lives.
Result<std::shared_ptr<const Model>> open_model(std::span<const std::byte> gguf, const std::string& source);

}  // namespace octavo
