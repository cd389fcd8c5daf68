// The two ways to a Model, one a file format. Private to models/.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "kernels/base/error.h"
#include "models/gguf/metadata.h"
#include "models/model.h"

namespace octavo {

// Errors lack the file's name; open_model puts it in front.
Result<Model> read_gguf_model(const std::filesystem::path& path);
Result<Model> read_gguf_model(std::span<const std::byte> bytes, const std::string& source);
Result<Model> read_safetensors_model(const std::filesystem::path& folder);

// `vocab`: rows of the embedding; 0: the file has none.
Status read_gguf_text(const GgufMetadata& metadata, int vocab, ModelText& text);
Status read_folder_text(const std::filesystem::path& folder, int vocab, ModelText& text);

// A model that takes token ids only; `reason` is a sentence.
void set_no_tokenizer(ModelText& text, const std::string& reason);

// Takes the chat dialect from the file's template; where ChatML stands in for it, a note says so.
void set_chat_template(ModelText& text, std::string_view source);

// What makes no sense is left out, with a note.
void set_sampling(ModelText& text, const SamplingHints& hints);

}  // namespace octavo
