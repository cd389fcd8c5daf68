#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "models/model_sources.h"
#include "models/safetensors/checkpoint.h"
#include "models/tokenizer/sentencepiece_tokenizer.h"
#include "models/tokenizer/tokenizer_json.h"

namespace octavo {
namespace {

using Json = nlohmann::json;
using TokenizerResult = Result<std::shared_ptr<const Tokenizer>>;

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

// "eos_token_id" is one id or a list: end of turn first, then end of text, then others that end a reply.
SpecialIds special_ids(const Json& settings) {
    SpecialIds ids;
    if (const Json* eos = find(settings, "eos_token_id")) {
        const Json list = eos->is_array() ? *eos : Json::array({*eos});
        if (!list.empty()) ids.end_of_turn = token_id(list[0]);
        if (list.size() > 1) ids.end_of_text = token_id(list[1]);
        for (size_t i = 2; i < list.size(); ++i) ids.stops.push_back(token_id(list[i]));
    }
    if (const Json* padding = find(settings, "pad_token_id")) ids.padding = token_id(*padding);
    return ids;
}

SamplingHints sampling_hints(const Json& settings) {
    SamplingHints hints;
    const auto number = [&](const char* key) {
        const Json* value = find(settings, key);
        return value && value->is_number() ? std::optional(value->get<float>()) : std::nullopt;
    };
    hints.temperature = number("temperature");
    hints.top_p = number("top_p");
    hints.min_p = number("min_p");
    hints.repeat_penalty = number("repetition_penalty");
    if (const Json* top_k = find(settings, "top_k"); top_k && token_id(*top_k) >= 0) hints.top_k = token_id(*top_k);
    const Json* sample = find(settings, "do_sample");
    if (sample && sample->is_boolean() && !sample->get<bool>()) hints.temperature = 0.0f;  // greedy
    return hints;
}

// The error with the file's name in front, where it does not say it already.
Error in_file(const Error& error, std::string_view file) {
    const bool named = error.message.starts_with(file);
    return {error.kind, named ? error.message : fmt::format("{}: {}", file, error.message)};
}

Status read_tokenizer(const std::filesystem::path& folder, const SpecialIds& ids, int vocab, ModelText& text) {
    for (const char* file : {"tokenizer.model", "tokenizer.json"}) {
        const auto serialized = read_text(folder, file, kMaxTokenizerBytes);
        if (!serialized) return serialized.error();
        if (!*serialized) continue;
        const bool is_json = std::string_view(file).ends_with(".json");
        TokenizerResult tokenizer =
            is_json ? make_bpe_from_json(**serialized, ids, vocab) : make_sentencepiece(**serialized, ids);
        if (!tokenizer) return in_file(tokenizer.error(), file);
        text.tokenizer = std::move(*tokenizer);
        return {};
    }
    set_no_tokenizer(text, "The folder has neither tokenizer.model nor tokenizer.json.");
    return {};
}

// A template, or the one named "default" in a list of several.
std::string template_text(const Json* value) {
    const auto text = [](const Json* item) {
        return item && item->is_string() ? item->get<std::string>() : std::string();
    };
    if (!value || !value->is_array()) return text(value);
    for (const Json& entry : *value)
        if (const Json* name = find(entry, "name"); name && *name == "default") return text(find(entry, "template"));
    return {};
}

// chat_template.jinja, or the template inside one of two JSON files; empty: none.
Result<std::string> read_template(const std::filesystem::path& folder) {
    const auto text = read_text(folder, "chat_template.jinja", kMaxJsonBytes);
    if (!text) return text.error();
    if (*text) return **text;
    for (const char* file : {"chat_template.json", "tokenizer_config.json"}) {
        const Result<Json> config = read_json(folder, file);
        if (!config) return config.error();
        if (std::string found = template_text(find(*config, "chat_template")); !found.empty()) return found;
    }
    return std::string();
}

}  // namespace

Status read_folder_text(const std::filesystem::path& folder, int vocab, ModelText& text) {
    const Result<Json> generation = read_json(folder, "generation_config.json");
    if (!generation) return generation.error();
    const Result<Json> config = read_json(folder, "config.json");
    if (!config) return config.error();
    set_sampling(text, sampling_hints(*generation));
    const SpecialIds ids = special_ids(find(*generation, "eos_token_id") ? *generation : *config);
    if (Status status = read_tokenizer(folder, ids, vocab, text); !status) return status;
    const Result<std::string> chat = read_template(folder);
    if (!chat) return chat.error();
    set_chat_template(text, *chat);
    return {};
}

}  // namespace octavo
