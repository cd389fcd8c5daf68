#include "models/model.h"

#include <fmt/format.h>

#include <system_error>

#include "models/gguf/checkpoint.h"
#include "models/model_sources.h"
#include "models/safetensors/checkpoint.h"

namespace octavo {
namespace {

template <class T>
Result<std::shared_ptr<const T>> shared(Result<T> opened, const std::string& source) {
    if (!opened) return in_model_file(opened.error(), source);
    return std::shared_ptr<const T>(std::make_shared<T>(std::move(*opened)));
}

// The folder of a Hugging Face checkpoint that `path` means; empty: it is a GGUF file.
std::filesystem::path checkpoint_folder(const std::filesystem::path& path) {
    std::error_code ignored;  // what cannot be looked at is reported when it is opened
    if (std::filesystem::is_directory(path, ignored)) return path;
    const bool is_part = path.extension() == ".safetensors" || path.extension() == ".json";
    if (!is_part) return {};
    return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

Result<ModelText> read_text(Result<GgufCheckpoint> checkpoint, const std::string& source) {
    if (!checkpoint) return checkpoint.error();
    ModelText text;
    text.source = source;
    if (Status status = read_gguf_text(checkpoint->metadata, 0, text); !status) return status.error();
    return text;
}

Result<ModelText> read_text(const std::filesystem::path& folder) {
    ModelText text;
    text.source = folder.string();
    if (Status status = read_folder_text(folder, 0, text); !status) return status.error();
    if (text.tokenizer) return text;  // without weights too
    if (Status status = check_checkpoint_folder(folder); !status) return status.error();
    return text;
}

}  // namespace

Error in_model_file(const Error& error, const std::string& source) {
    std::string message = error.message;
    const bool names_it = error.kind == ErrorKind::io && message.find(source) != std::string::npos;
    if (!names_it) message = fmt::format("{}: {}", source, message);
    if (!message.ends_with('.')) message += '.';
    return {error.kind, std::move(message)};
}

Result<std::shared_ptr<const Model>> open_model(const std::filesystem::path& path) {
    const std::filesystem::path folder = checkpoint_folder(path);
    return shared(folder.empty() ? read_gguf_model(path) : read_safetensors_model(folder), path.string());
}

Result<std::shared_ptr<const Model>> open_model(std::span<const std::byte> gguf, const std::string& source) {
    return shared(read_gguf_model(gguf, source), source);
}

Result<std::shared_ptr<const ModelText>> open_model_text(const std::filesystem::path& path) {
    const std::filesystem::path folder = checkpoint_folder(path);
    return shared(folder.empty() ? read_text(open_gguf(path), path.string()) : read_text(folder), path.string());
}

Result<std::shared_ptr<const ModelText>> open_model_text(std::span<const std::byte> gguf, const std::string& source) {
    return shared(read_text(open_gguf(gguf), source), source);
}

}  // namespace octavo
