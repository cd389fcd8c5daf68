#include "app/model_contents.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <system_error>

#include "models/bundled/bundled.h"
#include "models/chat/tools.h"
#include "models/gguf/checkpoint.h"
#include "models/model.h"
#include "models/safetensors/checkpoint.h"
#include "models/tensors/stored_rows.h"

namespace octavo {
namespace {

constexpr size_t kMaxConfigBytes = 4 << 20;

ModelContents from_gguf(GgufCheckpoint checkpoint) {
    ModelContents contents;
    contents.format = "GGUF v3";
    for (const GgufEntry& entry : checkpoint.metadata.entries()) {
        std::string type(gguf_type_name(entry.type));
        if (entry.type == GgufType::array) type += fmt::format(" of {}", gguf_type_name(entry.element));
        contents.metadata.push_back({std::string(entry.key), std::move(type), value_text(entry)});
    }
    contents.tensors = std::move(checkpoint.tensors);
    contents.owners = std::move(checkpoint.owners);
    return contents;
}

// The keys of config.json, nested ones with dots.
Result<std::vector<MetadataLine>> read_config(const std::filesystem::path& folder) {
    const auto text = read_text(folder, "config.json", kMaxConfigBytes);
    if (!text) return text.error();
    if (!*text) return Error{ErrorKind::input, "the folder has no config.json; fetch it too"};
    if (nests_too_deeply(**text)) return Error{ErrorKind::input, "config.json nests too deeply."};
    const nlohmann::json config = nlohmann::json::parse(**text, nullptr, false);
    if (!config.is_object()) return Error{ErrorKind::input, "config.json is not a JSON object."};
    const nlohmann::json flat = config.flatten();  // "/text_config/hidden_size": 384
    std::vector<MetadataLine> lines;
    for (const auto& [pointer, value] : flat.items()) {
        if (pointer.empty()) continue;  // all there is of an empty object
        std::string key = pointer.substr(1);
        for (char& c : key)
            if (c == '/') c = '.';
        lines.push_back(
            {std::move(key), value.type_name(), value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)});
    }
    return lines;
}

Result<ModelContents> from_folder(const std::filesystem::path& folder) {
    if (Status status = check_checkpoint_folder(folder); !status) return in_model_file(status.error(), folder.string());
    Result<SafetensorsCheckpoint> checkpoint = open_safetensors(folder);
    if (!checkpoint) return in_model_file(checkpoint.error(), folder.string());
    Result<std::vector<MetadataLine>> config = read_config(folder);
    if (!config) return in_model_file(config.error(), folder.string());
    return ModelContents{"safetensors", std::move(*config), std::move(checkpoint->tensors),
                         std::move(checkpoint->owners)};
}

}  // namespace

Result<ModelContents> read_model_contents(const std::filesystem::path& path) {
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) return from_folder(path);
    if (path.extension() == ".safetensors" || path.extension() == ".json") return from_folder(path.parent_path());
    Result<GgufCheckpoint> checkpoint = path.empty() ? open_gguf(bundled_model()) : open_gguf(path);
    if (!checkpoint) return in_model_file(checkpoint.error(), path.empty() ? "bundled" : path.string());
    return from_gguf(std::move(*checkpoint));
}

bool can_decode(const ModelContents& contents, const StoredTensor& tensor) {
    return tensor.weight != nullptr || static_cast<bool>(stored_rows(contents.tensors, tensor));
}

Result<DecodedTensor> decode_tensor(const ModelContents& contents, const StoredTensor& tensor) {
    const Result<StoredRows> stored = stored_rows(contents.tensors, tensor);
    if (!stored) return stored.error();
    const Matrix& rows = stored->rows;
    DecodedTensor decoded{tensor.shape, std::vector<float>(static_cast<size_t>(rows.rows * rows.cols)), {}};
    if (!decoded.shape.empty()) decoded.shape.back() = rows.cols;
    decode(*stored, decoded.values.data());
    for (const StoredTensor* scales : stored->scales) decoded.scales.push_back(scales->name);
    return decoded;
}

}  // namespace octavo
