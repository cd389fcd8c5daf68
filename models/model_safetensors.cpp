#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "models/hybrid/config_reader.h"
#include "models/hybrid/weights_reader.h"
#include "models/model_sources.h"
#include "models/safetensors/checkpoint.h"
#include "models/tokenizer/sentencepiece_tokenizer.h"

namespace octavo {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxJsonBytes = 4 << 20;
constexpr size_t kMaxTokenizerBytes = 64 << 20;

// The object in a JSON file of the folder; null where the file does not exist.
Result<Json> read_json(const std::filesystem::path& folder, std::string_view file) {
    const auto text = read_text(folder, file, kMaxJsonBytes);
    if (!text) return text.error();
    if (!*text) return Json();
    Json json = Json::parse(**text, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object()) return Error{ErrorKind::input, fmt::format("{} is not a JSON object", file)};
    return json;
}

const Json* find(const Json& object, const char* key) {
    if (!object.is_object()) return nullptr;
    const auto found = object.find(key);
    return found == object.end() ? nullptr : &*found;
}

int32_t token_id(const Json& value) {
    if (!value.is_number_unsigned()) return -1;
    const auto id = value.get<uint64_t>();
    return id <= INT32_MAX ? static_cast<int32_t>(id) : -1;
}

// "eos_token_id" is one id or a list: end of turn first, then end of text.
SpecialIds special_ids(const Json& settings) {
    SpecialIds ids;
    if (const Json* eos = find(settings, "eos_token_id")) {
        const Json list = eos->is_array() ? *eos : Json::array({*eos});
        if (!list.empty()) ids.end_of_turn = token_id(list[0]);
        if (list.size() > 1) ids.end_of_text = token_id(list[1]);
    }
    if (const Json* padding = find(settings, "pad_token_id")) ids.padding = token_id(*padding);
    return ids;
}

SamplingHints sampling_hints(const Json& settings) {
    SamplingHints hints;
    const Json* temperature = find(settings, "temperature");
    const Json* top_k = find(settings, "top_k");
    const Json* top_p = find(settings, "top_p");
    const Json* sample = find(settings, "do_sample");
    if (temperature && temperature->is_number()) hints.temperature = temperature->get<float>();
    if (sample && sample->is_boolean() && !sample->get<bool>()) hints.temperature = 0.0f;  // greedy
    if (top_k && token_id(*top_k) >= 0) hints.top_k = token_id(*top_k);
    if (top_p && top_p->is_number()) hints.top_p = top_p->get<float>();
    return hints;
}

Status read_tokenizer(const std::filesystem::path& folder, const SpecialIds& ids, Model& model) {
    const auto serialized = read_text(folder, "tokenizer.model", kMaxTokenizerBytes);
    if (!serialized) return serialized.error();
    if (!*serialized) {
        std::error_code ignored;
        const bool other = std::filesystem::exists(folder / "tokenizer.json", ignored);
        set_no_tokenizer(model,
                         other ? "The folder has tokenizer.json, a byte-level BPE tokenizer, which is not supported "
                                 "yet, and no tokenizer.model."
                               : "The folder has no tokenizer.model.");
        return {};
    }
    Result<std::shared_ptr<const Tokenizer>> tokenizer = make_sentencepiece(**serialized, ids);
    if (!tokenizer) {
        const std::string& message = tokenizer.error().message;
        return Error{tokenizer.error().kind,
                     message.starts_with("tokenizer.model") ? message : "tokenizer.model: " + message};
    }
    model.tokenizer = std::move(*tokenizer);
    return {};
}

// chat_template.jinja, or the template inside tokenizer_config.json; empty: none.
Result<std::string> read_template(const std::filesystem::path& folder) {
    const auto text = read_text(folder, "chat_template.jinja", kMaxJsonBytes);
    if (!text) return text.error();
    if (*text) return **text;
    const Result<Json> config = read_json(folder, "tokenizer_config.json");
    if (!config) return config.error();
    const Json* chat = find(*config, "chat_template");
    return chat && chat->is_string() ? chat->get<std::string>() : std::string();
}

Status read_text_side(const std::filesystem::path& folder, Model& model) {
    const Result<Json> generation = read_json(folder, "generation_config.json");
    if (!generation) return generation.error();
    const Result<Json> config = read_json(folder, "config.json");
    if (!config) return config.error();
    model.sampling = sampling_hints(*generation);
    const SpecialIds ids = special_ids(find(*generation, "eos_token_id") ? *generation : *config);
    if (Status status = read_tokenizer(folder, ids, model); !status) return status;
    const Result<std::string> chat = read_template(folder);
    if (!chat) return chat.error();
    set_chat_template(model, *chat);
    return {};
}

const TensorNames& names_of(const TensorStore& tensors) {
    const TensorNames& multimodal = hf_multimodal_tensor_names();
    return tensors.find(multimodal.embedding) >= 0 ? multimodal : hf_text_tensor_names();
}

}  // namespace

Result<Model> read_safetensors_model(const std::filesystem::path& folder) {
    const auto config = read_text(folder, "config.json", kMaxJsonBytes);
    if (!config) return config.error();
    if (!*config) return Error{ErrorKind::input, "the folder has no config.json; open a GGUF file or a model folder"};
    Result<HybridDescription> description = read_hybrid_config(**config);
    if (!description) return description.error();
    Result<SafetensorsCheckpoint> checkpoint = open_safetensors(folder);
    if (!checkpoint) return checkpoint.error();
    Result<HybridWeightsFile> weights =
        read_hybrid_weights(*description, checkpoint->tensors, names_of(checkpoint->tensors), "num_hidden_layers");
    if (!weights) return weights.error();

    Model model;
    model.name = std::filesystem::absolute(folder).lexically_normal().filename().string();
    model.source = folder.string();
    model.format = "safetensors";
    model.config = std::move(description->config);
    model.weights = std::move(weights->weights);
    model.drafts = std::move(weights->drafts);
    model.draft_bytes = weights->draft_bytes;
    model.weight_bytes = weights->bytes;
    model.parameters = weights->parameters;
    model.bytes_by_type = std::move(weights->bytes_by_type);
    model.notes = std::move(weights->notes);
    model.owners = std::move(checkpoint->owners);
    model.owners.push_back(std::move(weights->floats));
    if (Status status = read_text_side(folder, model); !status) return status.error();
    return model;
}

}  // namespace octavo
