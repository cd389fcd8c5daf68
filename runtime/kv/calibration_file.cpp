#include "runtime/kv/calibration_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <system_error>

#include "kernels/base/fnv_hash.h"

namespace octavo {
namespace {

constexpr int kVersion = 1;
constexpr size_t kSampleBytes = 4096;       // of every key and value projection
constexpr size_t kLargestNumberBytes = 32;  // of one number in the file, with its comma

class Hash : public FnvHash {
  public:
    void text(std::string_view text) { bytes(std::as_bytes(std::span(text))), number(std::ssize(text)); }
    void floats(const float* data, int64_t count) { bytes(std::as_bytes(std::span(data, static_cast<size_t>(count)))); }
    void sample(const Matrix& matrix) {
        const size_t count = std::min(kSampleBytes, static_cast<size_t>(matrix.bytes()));
        bytes({matrix.data, count});
    }
};

uint64_t hash_of(const Model& model, std::span<const int32_t> ids) {
    const HybridConfig& config = model.config;
    Hash hash;
    hash.text(config.architecture);
    hash.number(model.weight_bytes);
    hash.number(model.parameters);
    for (const auto& [type, bytes] : model.bytes_by_type) hash.text(type), hash.number(bytes);
    for (const int value : {config.layers, config.hidden, config.vocab, config.heads, config.kv_heads, config.head_dim,
                            config.rope_dims, config.experts}) {
        hash.number(value);
    }
    const auto head_dim = static_cast<int64_t>(config.head_dim);
    for (const LayerWeights& layer : model.weights.layers) {
        if (!layer.attention) continue;
        hash.floats(layer.attention->q_norm, config.heads * head_dim);
        hash.floats(layer.attention->k_norm, config.kv_heads * head_dim);
        if (layer.attention->v_scale != nullptr) {
            hash.floats(layer.attention->v_scale, config.kv_heads * head_dim);
        }
        hash.sample(layer.attention->k);
        hash.sample(layer.attention->v);
    }
    hash.bytes(std::as_bytes(ids));
    return hash.value();
}

// Numbers of a JSON array, if they are `count` finite ones from 0 on that fit into float32.
std::optional<std::vector<float>> numbers(const nlohmann::json& array, size_t count) {
    if (!array.is_array() || array.size() != count) return std::nullopt;
    std::vector<float> values;
    for (const nlohmann::json& item : array) {
        if (!item.is_number()) return std::nullopt;
        const double value = item.get<double>();
        if (!(value >= 0 && value <= double{std::numeric_limits<float>::max()})) return std::nullopt;
        values.push_back(static_cast<float>(value));
    }
    return values;
}

std::optional<ChannelTable> table(const nlohmann::json& json, std::string_view key, size_t layers, size_t channels) {
    if (!json.is_object() || json.value("version", nlohmann::json()) != kVersion ||
        json.value("key", nlohmann::json()) != key) {
        return std::nullopt;
    }
    const auto found = json.find("layers");
    if (found == json.end() || !found->is_array() || found->size() != layers) return std::nullopt;
    ChannelTable rms;
    for (const nlohmann::json& layer : *found) {
        if (!layer.is_object() || !layer.contains("k") || !layer.contains("v")) return std::nullopt;
        auto k = numbers(layer["k"], channels);
        auto v = numbers(layer["v"], channels);
        if (!k || !v) return std::nullopt;
        rms.push_back({std::move(*k), std::move(*v)});
    }
    return rms;
}

Error not_kept(const std::filesystem::path& path, std::string_view reason) {
    return {ErrorKind::io, fmt::format("The channel measurements could not be kept in {}: {}.", path.string(), reason)};
}

}  // namespace

CalibrationFile::CalibrationFile(const Model& model, std::span<const int32_t> ids, const std::filesystem::path& folder)
    : key_(fmt::format("{:016x}", hash_of(model, ids))),
      model_(model.name),
      layers_(static_cast<size_t>(model.config.attention_layers())),
      channels_(static_cast<size_t>(model.config.kv_heads) * static_cast<size_t>(model.config.head_dim)) {
    if (!folder.empty()) path_ = folder / fmt::format("channels-{}.json", key_);
}

Result<std::optional<ChannelTable>> CalibrationFile::read() const {
    std::error_code error;
    if (path_.empty() || !std::filesystem::exists(path_, error)) return std::optional<ChannelTable>();
    const auto ignored = [&](std::string_view reason) {
        return Error{ErrorKind::input, fmt::format("The channel measurements in {} are ignored and made again: {}.",
                                                   path_.string(), reason)};
    };
    const size_t largest = (2 * layers_ * channels_ + 64) * kLargestNumberBytes + model_.size() * 6;
    if (!std::filesystem::is_regular_file(path_, error)) return ignored("it is not a file");
    const auto size = std::filesystem::file_size(path_, error);
    if (error || size > largest) return ignored("the file is too large");
    std::ifstream in(path_, std::ios::binary);
    std::string text(static_cast<size_t>(size), '\0');
    if (!in.read(text.data(), static_cast<std::streamsize>(text.size()))) return ignored("it cannot be read");
    const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
    if (json.is_discarded()) return ignored("it is not JSON");
    std::optional<ChannelTable> rms = table(json, key_, layers_, channels_);
    if (!rms) return ignored("it does not hold this model's channels");
    return rms;
}

Status CalibrationFile::write(const ChannelTable& rms) const {
    if (path_.empty()) return {};
    std::error_code error;
    std::filesystem::create_directories(path_.parent_path(), error);
    if (error) return not_kept(path_, error.message());
    nlohmann::json layers = nlohmann::json::array();
    for (const LayerChannels& layer : rms) layers.push_back({{"k", layer.k}, {"v", layer.v}});
    const nlohmann::json json = {{"version", kVersion}, {"key", key_}, {"model", model_}, {"layers", layers}};
    // Another program may write the same file now: each writes its own, and renaming is one step.
    const auto ticks = std::chrono::steady_clock::now().time_since_epoch().count();
    std::filesystem::path part = path_;
    part += fmt::format(".{:x}.part", ticks);
    std::ofstream out(part, std::ios::binary);
    out << json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
    out.close();
    if (out) std::filesystem::rename(part, path_, error);
    if (out && !error) return {};
    const std::string reason = error ? error.message() : "the disk refused it";
    std::filesystem::remove(part, error);
    return not_kept(path_, reason);
}

}  // namespace octavo
