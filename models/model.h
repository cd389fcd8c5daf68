// A model file, opened: description, weights, tokenizer and chat template. Weights stay in the mapped file; small
// vectors are decoded to float32.
//
// Threads: immutable after opening, shared freely.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/base/job.h"
#include "models/chat/chat_template.h"
#include "models/hybrid/config.h"
#include "models/hybrid/weights.h"
#include "models/tokenizer/tokenizer.h"

namespace octavo {

// Sampling the file itself recommends; absent values are for the application to choose.
struct SamplingHints {
    std::optional<float> temperature;
    std::optional<int> top_k;
    std::optional<float> top_p;
};

struct Model {
    std::string name;    // general.name, or the file's name
    std::string source;  // path, or "bundled"
    std::string format;  // "GGUF v3", "safetensors"
    int64_t weight_bytes = 0;  // without draft blocks
    int64_t draft_bytes = 0;   // of draft (MTP) blocks: in the file, not read
    int64_t parameters = 0;
    std::map<std::string, int64_t> bytes_by_type;  // "Q8_0" -> bytes
    std::vector<std::string> notes;                // what was skipped, in sentences ("vision tensors ignored")

    HybridConfig config;
    HybridWeights weights;
    std::vector<DraftWeights> drafts;  // views of the file
    std::shared_ptr<const Tokenizer> tokenizer;  // nullptr: only ids work; `tokenizer_error` says why
    std::string tokenizer_error;
    std::optional<ChatTemplate> chat;  // absent: `chat_error` says why
    std::string chat_error;
    SamplingHints sampling;

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
