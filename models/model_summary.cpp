#include "models/model_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>

#include "kernels/base/memory_platform.h"
#include "models/gguf/file_type.h"
#include "models/gguf/header_file.h"
#include "models/hybrid/weights_reader.h"
#include "models/safetensors/checkpoint.h"
#include "models/safetensors/header.h"
#include "models/tensors/quote_name.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxConfigBytes = 4 << 20;
constexpr std::string_view kVisionPrefixes[] = {"v.", "mm."};

std::string text_or(const GgufMetadata& metadata, std::string_view key, std::string_view absent) {
    const auto text = metadata.text(key);
    return std::string(text && *text ? **text : absent);
}

bool is_vision(std::string_view name) {
    return std::any_of(std::begin(kVisionPrefixes), std::end(kVisionPrefixes),
                       [&](std::string_view prefix) { return name.starts_with(prefix); });
}

// The layer of "blk.40.nextn.eh_proj.weight"; -1 outside of layers.
int layer_of(std::string_view name) {
    constexpr std::string_view kPrefix = "blk.";
    if (!name.starts_with(kPrefix)) return -1;
    int layer = -1;
    const char* end = name.data() + name.size();
    const auto [next, error] = std::from_chars(name.data() + kPrefix.size(), end, layer);
    return error == std::errc() && next != end && *next == '.' ? layer : -1;
}

FileKind kind_of(const GgufMetadata& metadata, const ModelSummary& summary, bool has_tensors) {
    const std::string type = text_or(metadata, "general.type", "model");
    if (type == "mmproj" || summary.architecture == "clip") return FileKind::vision_part;
    if (type == "adapter") return FileKind::adapter;
    if (type != "model") return FileKind::other;
    return has_tensors ? FileKind::model : FileKind::vocabulary;
}

class GgufSummary {
  public:
    Status add(const fs::path& path) {
        Result<GgufHeaderFile> file = read_gguf_header(path);
        if (!file) return file.error();
        summary_.file_bytes += file->file_bytes;
        summary_.whole_bytes += std::max(file->file_bytes, file->header.file_bytes());
        std::vector<StoredTensor> tensors;
        for (const GgufRecord& record : file->header.records) {
            bytes_.push_back(static_cast<int64_t>(std::min<uint64_t>(record.bytes, kMostBytes)));
            tensors.push_back(record.tensor);
        }
        if (Status status = tensors_.add(std::move(tensors)); !status) return status;
        if (!first_) first_ = std::move(*file);
        return {};
    }

    ModelSummary finish() {
        const GgufMetadata& metadata = first_->header.metadata;
        summary_.name = text_or(metadata, "general.name", "");
        summary_.architecture = text_or(metadata, "general.architecture", "");
        summary_.kind = kind_of(metadata, summary_, !tensors_.tensors().empty());
        const auto parts = metadata.integer("split.count");
        if (parts && *parts) summary_.parts = static_cast<int>(std::clamp<int64_t>(**parts, 1, 1000));
        const auto number = metadata.integer("split.no");
        if (number && *number)
            summary_.part = static_cast<int>(std::clamp<int64_t>(**number, 0, summary_.parts - 1)) + 1;
        describe(metadata);
        count_tensors();
        name_quantisation(metadata);
        return std::move(summary_);
    }

  private:
    static constexpr uint64_t kMostBytes = uint64_t{1} << 50;  // so that sums cannot overflow

    void describe(const GgufMetadata& metadata) {
        if (summary_.kind != FileKind::model || !is_hybrid_architecture(summary_.architecture)) return;
        Result<HybridDescription> description = read_hybrid_config(metadata, tensors_);
        if (description) {
            const Status layers = check_layers_exist(description->config, tensors_, gguf_tensor_names(),
                                                     summary_.architecture + ".block_count");
            if (!layers) summary_.problem = layers.error().message;
            summary_.description = std::move(*description);
        } else {
            summary_.problem = description.error().message;
        }
    }

    void count_tensors() {
        const int trunk = summary_.description ? summary_.description->config.layers : INT32_MAX;
        for (size_t i = 0; i < bytes_.size(); ++i) {
            const StoredTensor& tensor = tensors_.tensors()[i];
            int64_t& sum = layer_of(tensor.name) >= trunk ? summary_.draft_bytes
                           : is_vision(tensor.name)       ? summary_.vision_bytes
                                                          : summary_.weight_bytes;
            sum += bytes_[i];
            summary_.parameters += std::min<int64_t>(tensor.elements(), kMostBytes);
            bytes_by_type_[tensor.type_name] += bytes_[i];
            if (tensor.weight == nullptr) add_unsupported(tensor.type_name);
        }
    }

    void add_unsupported(const std::string& type) {
        std::vector<std::string>& types = summary_.unsupported_types;
        if (std::find(types.begin(), types.end(), type) == types.end()) types.push_back(type);
    }

    void name_quantisation(const GgufMetadata& metadata) {
        const auto number = metadata.integer("general.file_type");
        if (number && *number) summary_.quantisation = file_type_name(**number);
        if (!summary_.quantisation.empty() || bytes_by_type_.empty()) return;
        summary_.quantisation =
            std::max_element(bytes_by_type_.begin(), bytes_by_type_.end(), [](const auto& a, const auto& b) {
                return a.second < b.second;
            })->first;
    }

    ModelSummary summary_;
    std::optional<GgufHeaderFile> first_;
    TensorStore tensors_;
    std::vector<int64_t> bytes_;  // [tensors]
    std::map<std::string, int64_t> bytes_by_type_;
};

}  // namespace

Result<ModelSummary> summarise_gguf(std::span<const fs::path> files) {
    GgufSummary summary;
    if (files.empty()) return Error{ErrorKind::input, "there is no file"};
    for (const fs::path& file : files) {
        if (Status status = summary.add(file); !status) return status.error();
    }
    return summary.finish();
}

Result<ModelSummary> summarise_safetensors(const fs::path& folder) {
    const auto config = read_text(folder, "config.json", kMaxConfigBytes);
    if (!config) return config.error();
    if (!*config) return Error{ErrorKind::input, "there is no config.json"};
    ModelSummary summary;
    summary.parts = 0;
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
        if (it->path().extension() != ".safetensors") continue;
        std::error_code ignored;
        const uintmax_t bytes = it->file_size(ignored);
        if (ignored) continue;
        ++summary.parts;
        summary.file_bytes += bytes;
    }
    summary.whole_bytes = summary.file_bytes;
    summary.weight_bytes = static_cast<int64_t>(summary.file_bytes);
    summary.quantisation = "safetensors";
    Result<HybridDescription> description = read_hybrid_config(**config);
    if (description) {
        summary.architecture = description->config.architecture;
        summary.description = std::move(*description);
    } else {
        summary.problem = description.error().message;
        return summary;
    }
    const Result<std::vector<std::string>> files = weight_files(folder);
    if (!files) return files.error();
    for (const std::string& file : *files) {
        if (is_missing(folder, file)) {
            summary.missing_file = file;
            return summary;
        }
        const Result<MappedFile> mapped = MappedFile::open(folder / file);
        if (!mapped) return mapped.error();
        if (const auto tensors = parse_safetensors(mapped->bytes()); !tensors)
            return Error{ErrorKind::input, fmt::format("{}: {}", file, tensors.error().message)};
    }
    return summary;
}

}  // namespace octavo
