// The two ways to a Model, one a file format. Private to models/.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "kernels/base/error.h"
#include "models/model.h"

namespace octavo {

// Errors lack the file's name; open_model puts it in front.
Result<Model> read_gguf_model(const std::filesystem::path& path);
Result<Model> read_gguf_model(std::span<const std::byte> bytes, const std::string& source);
Result<Model> read_safetensors_model(const std::filesystem::path& folder);

// A model that takes token ids only; `reason` is a sentence.
void set_no_tokenizer(Model& model, const std::string& reason);

// Takes the chat dialect from the file's template; a template without a dialect is no reason to refuse the model.
void set_chat_template(Model& model, std::string_view source);

}  // namespace octavo
