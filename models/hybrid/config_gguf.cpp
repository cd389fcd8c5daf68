#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "models/hybrid/config_fields.h"
#include "models/hybrid/config_reader.h"
#include "models/tensors/quote_name.h"

namespace octavo {
namespace {

constexpr int64_t kDefaultInterval = 4;
constexpr int kMostDraftLayers = 16;
constexpr std::string_view kEmbedding = "token_embd.weight";

// Keys of one architecture. The first trouble is kept; afterwards every read gives a harmless value.
class Keys {
  public:
    Keys(const GgufMetadata& metadata, std::string_view architecture) : metadata_(metadata), prefix_(architecture) {}

    std::string full(std::string_view key) const { return fmt::format("{}.{}", prefix_, key); }
    bool has(std::string_view key) const { return metadata_.find(full(key)) != nullptr; }
    const std::optional<Error>& error() const { return error_; }
    void fail(Error error) {
        if (!error_) error_ = std::move(error);
    }
    void check(const Status& status) {
        if (!status) fail(status.error());
    }

    int64_t integer(std::string_view key, int64_t least, int64_t most, std::optional<int64_t> absent = {}) {
        const auto value = value_of(metadata_.integer(full(key)), key, absent);
        if (value && *value >= least && *value <= most) return *value;
        if (value) fail(out_of_range(full(key), *value, least, most));
        return least;
    }

    double real(std::string_view key, double least, double most, std::optional<double> absent = {}) {
        const auto value = value_of(metadata_.real(full(key)), key, absent);
        if (!value) return least;
        check(check_real(full(key), *value, least, most));
        return *value;
    }

    std::string_view text(std::string_view key, std::string_view absent) {
        return value_of(metadata_.text(full(key)), key, std::optional(absent)).value_or(absent);
    }

  private:
    template <class T>
    std::optional<T> value_of(const Result<std::optional<T>>& found, std::string_view key, std::optional<T> absent) {
        if (!found) {
            fail(found.error());
        } else if (*found) {
            return *found;
        } else if (absent) {
            return absent;
        } else {
            fail(missing_key(full(key)));
        }
        return std::nullopt;
    }

    const GgufMetadata& metadata_;
    std::string_view prefix_;
    std::optional<Error> error_;
};

Result<const Architecture*> read_architecture(const GgufMetadata& metadata) {
    constexpr std::string_view kKey = "general.architecture";
    const auto name = metadata.text(kKey);
    if (!name) return name.error();
    if (!*name) return missing_key(kKey);
    const Architecture* architecture = find_architecture(**name);
    if (architecture) return architecture;
    return Error{ErrorKind::input,
                 fmt::format("'{}' is {}; supported are qwen3next, qwen35moe and qwen35", kKey, quote_name(**name))};
}

void read_sizes(Keys& keys, std::span<const SizeField> fields, HybridConfig& config) {
    for (const SizeField& field : fields)
        config.*field.member = static_cast<int>(keys.integer(field.gguf, 1, field.most));
}

RopeSettings read_rope(Keys& keys) {
    RopeSettings rope;
    rope.dims = static_cast<int>(keys.integer("rope.dimension_count", 1, kMostHeadDim));
    rope.theta = keys.real("rope.freq_base", 1.001, 1e15);
    rope.factor = keys.real("rope.scaling.factor", 1, 4096, 1.0);
    // Files without a type but with a factor mean plain interpolation.
    const std::string_view type = keys.text("rope.scaling.type", keys.has("rope.scaling.factor") ? "linear" : "none");
    const Result<RopeScaling> scaling = rope_scaling_of(type, keys.full("rope.scaling.type"));
    if (!scaling) {
        keys.fail(scaling.error());
        return rope;
    }
    rope.scaling = *scaling;
    if (rope.scaling == RopeScaling::yarn) {
        rope.original_context =
            static_cast<double>(keys.integer("rope.scaling.original_context_length", 1, kMostContext));
        rope.attention_factor = keys.real("rope.scaling.attn_factor", 0.01, 100, rope.attention_factor);
        rope.beta_fast = keys.real("rope.scaling.yarn_beta_fast", 0.001, 1e6, rope.beta_fast);
        rope.beta_slow = keys.real("rope.scaling.yarn_beta_slow", 0.001, 1e6, rope.beta_slow);
    }
    return rope;
}

// `all_layers` counts draft blocks too; the array may cover the trunk only or all.
void read_recurrent_layers(Keys& keys, const GgufMetadata& metadata, int all_layers, HybridConfig& config) {
    const std::string key = keys.full("attention.recurrent_layers");
    const auto set = [&](size_t layer, bool recurrent) {
        config.layer_kinds[layer] = recurrent ? LayerKind::gated_delta_net : LayerKind::full_attention;
    };
    if (metadata.find(key)->type == GgufType::boolean) {
        const auto one = metadata.boolean(key);
        for (size_t layer = 0; layer < config.layer_kinds.size(); ++layer) set(layer, one->value());
        return;
    }
    const auto array = metadata.booleans(key, kMostLayers);
    if (!array) return keys.fail(array.error());
    const std::vector<bool>& recurrent = **array;
    const size_t count = recurrent.size();
    if (count != config.layer_kinds.size() && count != static_cast<size_t>(all_layers)) {
        return keys.fail(
            {ErrorKind::input, fmt::format("key '{}' has {} entries for {} layers", key, count, all_layers)});
    }
    for (size_t layer = 0; layer < config.layer_kinds.size(); ++layer) set(layer, recurrent[layer]);
}

void read_layers(Keys& keys, const GgufMetadata& metadata, HybridDescription& description) {
    HybridConfig& config = description.config;
    const int all_layers = static_cast<int>(keys.integer("block_count", 1, kMostLayers));
    description.draft_layers =
        static_cast<int>(keys.integer("nextn_predict_layers", 0, std::min(all_layers - 1, kMostDraftLayers), 0));
    config.layers = all_layers - description.draft_layers;
    config.layer_kinds.assign(static_cast<size_t>(config.layers), LayerKind::gated_delta_net);
    if (keys.has("attention.recurrent_layers")) return read_recurrent_layers(keys, metadata, all_layers, config);
    const auto interval =
        static_cast<size_t>(keys.integer("full_attention_interval", 1, kMostLayers, kDefaultInterval));
    for (size_t layer = interval - 1; layer < config.layer_kinds.size(); layer += interval) {
        config.layer_kinds[layer] = LayerKind::full_attention;
    }
}

void read_head_dims(Keys& keys, HybridConfig& config) {
    const auto value_length = keys.integer("attention.value_length", 1, kMostHeadDim, config.head_dim);
    if (value_length != config.head_dim) {
        keys.fail({ErrorKind::input, fmt::format("key '{}' is {} but '{}' is {}; keys and values of unequal size are "
                                                 "not supported",
                                                 keys.full("attention.value_length"), value_length,
                                                 keys.full("attention.key_length"), config.head_dim)});
    }
    const int64_t inner = keys.integer("ssm.inner_size", 1, int64_t{kMostHeadDim} * config.gdn_value_heads);
    if (inner % config.gdn_value_heads != 0) {
        keys.fail(
            {ErrorKind::input, fmt::format("key '{}' is {}, not a multiple of '{}' {}", keys.full("ssm.inner_size"),
                                           inner, keys.full("ssm.time_step_rank"), config.gdn_value_heads)});
    }
    config.gdn_value_dim = static_cast<int>(inner / config.gdn_value_heads);
}

Result<int> read_vocab(const TensorStore& tensors) {
    const int index = tensors.find(kEmbedding);
    if (index < 0) return Error{ErrorKind::input, fmt::format("tensor '{}' is missing", kEmbedding)};
    const StoredTensor& embedding = tensors.tensors()[static_cast<size_t>(index)];
    if (embedding.shape.size() == 2 && embedding.shape[0] <= kMostVocab) return static_cast<int>(embedding.shape[0]);
    return Error{ErrorKind::input, fmt::format("tensor '{}' has shape {}; expected at most {} rows of two dimensions",
                                               kEmbedding, shape_text(embedding.shape), kMostVocab)};
}

}  // namespace

Result<HybridDescription> read_hybrid_config(const GgufMetadata& metadata, const TensorStore& tensors) {
    const Result<const Architecture*> architecture = read_architecture(metadata);
    if (!architecture) return architecture.error();
    HybridDescription description;
    HybridConfig& config = description.config;
    config.architecture = (*architecture)->name;

    Keys keys(metadata, (*architecture)->name);
    read_layers(keys, metadata, description);
    read_sizes(keys, common_sizes(), config);
    read_sizes(keys, (*architecture)->dense ? dense_sizes() : expert_sizes(), config);
    read_head_dims(keys, config);
    config.rms_eps = static_cast<float>(keys.real("attention.layer_norm_rms_epsilon", 1e-12, 0.1));
    const RopeSettings rope = read_rope(keys);
    if (keys.error()) return *keys.error();

    const Result<int> vocab = read_vocab(tensors);
    if (!vocab) return vocab.error();
    config.vocab = *vocab;
    description.tied_embeddings = tensors.find("output.weight") < 0;
    if (Status s = finish_config(config, rope, Naming::gguf, (*architecture)->gguf_tiles_heads); !s) return s.error();
    return description;
}

}  // namespace octavo
