#include "models/model.h"

#include <fmt/format.h>

#include <system_error>

#include "models/model_sources.h"

namespace octavo {
namespace {

Result<std::shared_ptr<const Model>> shared(Result<Model> model, const std::string& source) {
    if (!model) return in_model_file(model.error(), source);
    return std::shared_ptr<const Model>(std::make_shared<Model>(std::move(*model)));
}

bool is_safetensors_part(const std::filesystem::path& path) {
    return path.extension() == ".safetensors" || path.extension() == ".json";
}

}  // namespace

Error in_model_file(const Error& error, const std::string& source) {
    std::string message = error.message;
    const bool names_it = error.kind == ErrorKind::io && message.find(source) != std::string::npos;
    if (!names_it) message = fmt::format("{}: {}", source, message);
    if (!message.ends_with('.')) message += '.';
    return {error.kind, std::move(message)};
}

void set_no_tokenizer(Model& model, const std::string& reason) {
    model.tokenizer_error = reason;
    model.notes.push_back(reason + " Only token ids can be used.");
}

void set_chat_template(Model& model, std::string_view source) {
    if (source.empty()) model.notes.emplace_back("The file has no chat template; plain ChatML is used.");
    Result<ChatTemplate> chat = ChatTemplate::detect(source);
    if (chat) {
        model.chat = std::move(*chat);
    } else {
        model.chat_error = chat.error().message;
    }
}

Result<std::shared_ptr<const Model>> open_model(const std::filesystem::path& path) {
    std::error_code ignored;  // what cannot be looked at is reported when it is opened
    if (std::filesystem::is_directory(path, ignored)) return shared(read_safetensors_model(path), path.string());
    if (is_safetensors_part(path)) return shared(read_safetensors_model(path.parent_path()), path.string());
    return shared(read_gguf_model(path), path.string());
}

Result<std::shared_ptr<const Model>> open_model(std::span<const std::byte> gguf, const std::string& source) {
    return shared(read_gguf_model(gguf, source), source);
}

}  // namespace octavo
