#include "app/library/ollama.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <system_error>

#include "app/text_file.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr size_t kMaxManifestBytes = 1 << 20;
constexpr std::string_view kModelLayer = "application/vnd.ollama.image.model";

// "sha256:HEX" -> "sha256-HEX", the name of its file; empty for anything else, so that no digest leads elsewhere.
std::string blob_name(const std::string& digest) {
    constexpr std::string_view kPrefix = "sha256:";
    constexpr size_t kHexDigits = 64;
    if (!digest.starts_with(kPrefix) || digest.size() != kPrefix.size() + kHexDigits) return {};
    const std::string hex = digest.substr(kPrefix.size());
    if (hex.find_first_not_of("0123456789abcdef") != std::string::npos) return {};
    return "sha256-" + hex;
}

std::string text_of(const json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// "qwen3:30b"; with the namespace where it is not the usual one.
std::string name_of(const fs::path& store, const fs::path& manifest) {
    std::vector<std::string> parts;
    for (const fs::path& part : manifest.lexically_relative(store / "manifests")) parts.push_back(part.string());
    if (parts.size() < 2) return manifest.filename().string();
    std::string name = fmt::format("{}:{}", parts[parts.size() - 2], parts.back());
    if (parts.size() > 2 && parts[parts.size() - 3] != "library") name = parts[parts.size() - 3] + "/" + name;
    return name;
}

}  // namespace

std::optional<FoundModel> read_ollama_manifest(const fs::path& store, const fs::path& manifest) {
    const Result<std::string> text = read_text_file(manifest, kMaxManifestBytes);
    if (!text) return std::nullopt;
    const json document = json::parse(*text, nullptr, false);
    if (!document.is_object()) return std::nullopt;
    const auto layers = document.find("layers");
    if (layers == document.end() || !layers->is_array()) return std::nullopt;
    FoundModel found;
    found.name = name_of(store, manifest);
    for (const json& layer : *layers) {
        if (!layer.is_object() || text_of(layer, "mediaType") != kModelLayer) continue;
        const std::string blob = blob_name(text_of(layer, "digest"));
        if (blob.empty()) {
            found.location = manifest;
            found.incomplete = "Its manifest does not name the file by a SHA-256 hash: fetch it again with Ollama.";
            return found;
        }
        const fs::path file = store / "blobs" / blob;
        std::error_code error;
        if (fs::is_regular_file(file, error))
            found.files.push_back(file);
        else
            found.incomplete = "The download is not finished, or its file was deleted.";
        found.location = manifest;
        return found;  // a model is one file there
    }
    return std::nullopt;
}

}  // namespace octavo
