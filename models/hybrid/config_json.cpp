#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "models/hybrid/config_fields.h"
#include "models/hybrid/config_reader.h"
#include "models/tensors/quote_name.h"

namespace octavo {
namespace {

using Json = nlohmann::json;

// Settings of one JSON object. The first trouble is kept; afterwards every read gives a harmless value.
// `null` counts as absent.
class Fields {
  public:
    // No object: every setting is absent.
    Fields(const Json* object, std::optional<Error>& error) : object_(object), error_(error) {}

    void fail(Error error) {
        if (!error_) error_ = std::move(error);
    }
    void fail_type(std::string_view key, std::string_view expected) {
        fail({ErrorKind::input, fmt::format("'{}' in config.json is not {}", key, expected)});
    }
    const Json* find(std::string_view key) const {
        if (!object_) return nullptr;
        const auto found = object_->find(key);
        return found == object_->end() || found->is_null() ? nullptr : &*found;
    }

    int64_t integer(std::string_view key, int64_t least, int64_t most, std::optional<int64_t> absent = {}) {
        const Json* value = required(key, absent.has_value());
        if (!value) return absent.value_or(least);
        if (!value->is_number_integer()) return fail_type(key, "an integer"), least;
        const bool huge = value->is_number_unsigned() && value->get<uint64_t>() > uint64_t{INT64_MAX};
        const int64_t number = huge ? INT64_MAX : value->get<int64_t>();
        if (number >= least && number <= most) return number;
        return fail(out_of_range(key, number, least, most)), least;
    }

    double real(std::string_view key, double least, double most, std::optional<double> absent = {}) {
        const Json* value = required(key, absent.has_value());
        if (!value) return absent.value_or(least);
        if (!value->is_number()) return fail_type(key, "a number"), least;
        const auto number = value->get<double>();
        if (Status status = check_real(key, number, least, most); !status) return fail(status.error()), least;
        return number;
    }

    bool boolean(std::string_view key, bool absent) {
        const Json* value = find(key);
        if (!value) return absent;
        if (!value->is_boolean()) return fail_type(key, "true or false"), absent;
        return value->get<bool>();
    }

    std::string text(std::string_view key, std::string absent) {
        const Json* value = find(key);
        if (!value) return absent;
        if (!value->is_string()) return fail_type(key, "text"), absent;
        return value->get<std::string>();
    }

    // nullptr where absent.
    const Json* object(std::string_view key) {
        const Json* value = find(key);
        if (value && !value->is_object()) return fail_type(key, "an object"), nullptr;
        return value;
    }

    void unsupported(std::string_view key, std::string_view what) {
        fail({ErrorKind::input, fmt::format("'{}' in config.json: {} not supported", key, what)});
    }

  private:
    const Json* required(std::string_view key, bool optional) {
        const Json* value = find(key);
        if (!value && !optional) {
            fail({ErrorKind::input, fmt::format("'{}' is missing in config.json; the file is incomplete", key)});
        }
        return value;
    }

    const Json* object_;
    std::optional<Error>& error_;
};

void read_sizes(Fields& fields, std::span<const SizeField> sizes, HybridConfig& config) {
    for (const SizeField& size : sizes) config.*size.member = static_cast<int>(fields.integer(size.hf, 1, size.most));
}

// "layer_types" lists every layer; without it every `full_attention_interval`-th layer is attention.
void read_layers(Fields& fields, HybridConfig& config) {
    config.layers = static_cast<int>(fields.integer("num_hidden_layers", 1, kMostLayers));
    config.layer_kinds.assign(static_cast<size_t>(config.layers), LayerKind::gated_delta_net);
    const auto interval = static_cast<size_t>(fields.integer("full_attention_interval", 1, kMostLayers, 4));
    const Json* types = fields.find("layer_types");
    if (!types) {
        for (size_t layer = interval - 1; layer < config.layer_kinds.size(); layer += interval) {
            config.layer_kinds[layer] = LayerKind::full_attention;
        }
        return;
    }
    if (!types->is_array() || types->size() != config.layer_kinds.size()) {
        return fields.fail_type("layer_types", fmt::format("a list of {} entries", config.layers));
    }
    for (size_t layer = 0; layer < config.layer_kinds.size(); ++layer) {
        const Json& type = (*types)[layer];
        if (type == "full_attention") {
            config.layer_kinds[layer] = LayerKind::full_attention;
        } else if (type != "linear_attention") {
            return fields.fail_type("layer_types", "made of full_attention and linear_attention");
        }
    }
}

// Settings stand in `rope_parameters` (newer files) or beside the sizes, with the scaling in `rope_scaling`.
RopeSettings read_rope(Fields& fields, std::optional<Error>& error, const HybridConfig& config) {
    Fields scaling(fields.object(fields.find("rope_parameters") ? "rope_parameters" : "rope_scaling"), error);
    const auto holder = [&](std::string_view key) -> Fields& { return scaling.find(key) ? scaling : fields; };
    RopeSettings rope;
    rope.theta = holder("rope_theta").real("rope_theta", 1.001, 1e15);
    const double share = holder("partial_rotary_factor").real("partial_rotary_factor", 0, 1, 0.25);
    rope.dims = static_cast<int>(config.head_dim * share);
    const std::string type = scaling.text("rope_type", scaling.text("type", "default"));
    const Result<RopeScaling> kind = rope_scaling_of(type, "rope_type");
    if (!kind) {
        fields.fail(kind.error());
        return rope;
    }
    rope.scaling = *kind;
    if (rope.scaling == RopeScaling::none) return rope;
    rope.factor = scaling.real("factor", 1, 4096);
    if (rope.scaling == RopeScaling::linear) return rope;
    rope.original_context = static_cast<double>(
        scaling.integer("original_max_position_embeddings", 1, kMostContext, config.context_length));
    rope.beta_fast = scaling.real("beta_fast", 0.001, 1e6, rope.beta_fast);
    rope.beta_slow = scaling.real("beta_slow", 0.001, 1e6, rope.beta_slow);
    if (scaling.find("attention_factor")) {  // here it is the whole factor
        rope.attention_factor = scaling.real("attention_factor", 0.01, 100) / (1 + 0.1 * std::log(rope.factor));
    }
    return rope;
}

// Of quantised checkpoints those whose tensors say enough by themselves (see matrix_reader.cpp).
void check_quantisation(Fields& top, std::optional<Error>& error) {
    constexpr std::string_view kMethods[] = {"fp8", "modelopt", "compressed-tensors"};
    const Json* object = top.object("quantization_config");
    if (!object) return;
    Fields settings(object, error);
    const std::string method = settings.text("quant_method", "");
    if (std::find(std::begin(kMethods), std::end(kMethods), method) == std::end(kMethods)) {
        top.unsupported("quantization_config", fmt::format("weights quantised by {} are", quote_name(method)));
    } else if (const Json* block = settings.find("weight_block_size"); block && *block != Json{128, 128}) {
        top.unsupported("weight_block_size", "FP8 scales for other blocks than 128 x 128 are");
    }
}

// Settings that would change the arithmetic and that no released model of this family uses.
void refuse_variants(Fields& fields) {
    if (fields.boolean("attention_bias", false)) fields.unsupported("attention_bias", "biases are");
    if (!fields.boolean("norm_topk_prob", true))
        fields.unsupported("norm_topk_prob", "expert weights that do not sum to 1 are");
    if (!fields.boolean("attn_output_gate", true))
        fields.unsupported("attn_output_gate", "attention without a gate is");
    if (fields.text("hidden_act", "silu") != "silu") fields.unsupported("hidden_act", "other functions than silu are");
    if (fields.integer("decoder_sparse_step", 0, INT32_MAX, 1) != 1) {
        fields.unsupported("decoder_sparse_step", "a mix of dense and expert layers is");
    }
    if (const Json* list = fields.find("mlp_only_layers"); list && !list->empty()) {
        fields.unsupported("mlp_only_layers", "a mix of dense and expert layers is");
    }
}

Result<const Architecture*> read_architecture(Fields& top) {
    const std::string type = top.text("model_type", "");
    if (const Architecture* architecture = find_hf_architecture(type)) return architecture;
    return Error{ErrorKind::input,
                 fmt::format("'model_type' in config.json is {}; supported are qwen3_next, qwen3_5_moe "
                             "and qwen3_5 (with or without _text)",
                             quote_name(type))};
}

}  // namespace

Result<HybridDescription> read_hybrid_config(std::string_view json) {
    const Json document = Json::parse(json, nullptr, /*allow_exceptions=*/false);
    if (!document.is_object()) return Error{ErrorKind::input, "config.json is not a JSON object"};
    std::optional<Error> error;
    Fields top(&document, error);
    const Result<const Architecture*> architecture = read_architecture(top);
    if (!architecture) return architecture.error();
    Fields fields(top.find("text_config") ? top.object("text_config") : &document, error);

    HybridDescription description;
    HybridConfig& config = description.config;
    config.architecture = (*architecture)->name;
    config.vocab = static_cast<int>(fields.integer("vocab_size", 1, kMostVocab));
    config.gdn_value_dim = static_cast<int>(fields.integer("linear_value_head_dim", 1, kMostHeadDim));
    read_layers(fields, config);
    read_sizes(fields, common_sizes(), config);
    read_sizes(fields, (*architecture)->dense ? dense_sizes() : expert_sizes(), config);
    config.rms_eps = static_cast<float>(fields.real("rms_norm_eps", 1e-12, 0.1));
    const bool tied_above = top.boolean("tie_word_embeddings", false);
    description.tied_embeddings = fields.boolean("tie_word_embeddings", tied_above);
    const RopeSettings rope = read_rope(fields, error, config);
    check_quantisation(top, error);
    refuse_variants(fields);
    if (error) return *error;
    // Value heads stand in their key head's order in these files.
    if (Status s = finish_config(config, rope, Naming::hugging_face, /*tiled_heads=*/false); !s) return s.error();
    return description;
}

}  // namespace octavo
