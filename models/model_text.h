// The text side of a model file: its tokenizer, chat template and recommended sampling. Vocabulary files have nothing
// else.
//
// Threads: immutable after opening, shared freely.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/base/error.h"
#include "models/chat/chat_template.h"
#include "models/tokenizer/tokenizer.h"

namespace octavo {

// Sampling the file itself recommends; absent values are for the application to choose.
struct SamplingHints {
    std::optional<float> temperature;
    std::optional<int> top_k;
    std::optional<float> top_p;
    std::optional<float> min_p;
    std::optional<float> repeat_penalty;

    bool any() const { return temperature || top_k || top_p || min_p || repeat_penalty; }
};

struct ModelText {
    std::string source;              // path, or "bundled"
    std::vector<std::string> notes;  // what was skipped or taken for something else, in sentences

    std::shared_ptr<const Tokenizer> tokenizer;  // nullptr: only ids work; `tokenizer_error` says why
    std::string tokenizer_error;
    std::optional<ChatTemplate> chat;  // ChatML where the file has no template, or one that is not known: see notes
    SamplingHints sampling;
};

// As open_model, but only this; nothing else needs to be in the file.
Result<std::shared_ptr<const ModelText>> open_model_text(const std::filesystem::path& path);
Result<std::shared_ptr<const ModelText>> open_model_text(std::span<const std::byte> gguf, const std::string& source);

}  // namespace octavo
