#include "app/desktop/conversation_settings.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

namespace octavo {

Settings to_stored(const ConversationSettings& settings) {
    Settings stored;
    const KvSettings& kv = settings.cache.kv;
    stored.set_text("kv", kv_scheme_name(kv.scheme));
    stored.set_integer("kv_window", kv.window);
    stored.set_integer("kv_sinks", kv.sinks);
    stored.set_text("rotate", std::string(kv_rotation_name(kv.rotation)));
    stored.set_text("encoder", std::string(kv_encoder_name(kv.encoder)));
    stored.set_integer("context", settings.cache.context_length);
    const SamplerOptions& sampler = settings.sampling.sampler;
    stored.set_number("temperature", sampler.temperature);
    stored.set_integer("top_k", sampler.top_k);
    stored.set_number("top_p", sampler.top_p);
    stored.set_number("min_p", sampler.min_p);
    stored.set_number("repeat_penalty", sampler.repeat_penalty);
    // JSON integers end at 2^53 for some readers; a text keeps every seed.
    stored.set_text("seed", std::to_string(sampler.seed));
    stored.set_integer("max_tokens", settings.sampling.max_tokens);
    stored.set_flag("thinking", settings.sampling.thinking);
    stored.set_text("system_prompt", settings.sampling.system_prompt);
    stored.set_integer("first_message_read", settings.first_message_read);
    stored.set_integer("dropped_tokens", settings.dropped_tokens);
    stored.set_integer("dropped_at", settings.dropped_at);
    return stored;
}

namespace {

KvSettings kv_from_stored(const Settings& stored, const KvSettings& defaults) {
    KvSettings kv = defaults;
    if (const auto name = stored.text("kv")) {
        const Result<KvScheme> scheme = parse_kv_scheme(*name);
        if (!scheme) return defaults;
        kv = default_kv_settings(*scheme);
    }
    kv.window = std::max<int64_t>(0, stored.integer("kv_window").value_or(kv.window));
    kv.sinks = std::max<int64_t>(0, stored.integer("kv_sinks").value_or(kv.sinks));
    if (const auto name = stored.text("rotate"))
        if (const Result<KvRotation> rotation = parse_kv_rotation(*name)) kv.rotation = *rotation;
    if (const auto name = stored.text("encoder"))
        if (const Result<KvEncoder> encoder = parse_kv_encoder(*name)) kv.encoder = *encoder;
    return kv;
}

SamplerOptions sampler_from_stored(const Settings& stored, const SamplerOptions& defaults) {
    SamplerOptions sampler = defaults;
    const auto number = [&](const char* key, float& value) {
        value = static_cast<float>(stored.number(key).value_or(static_cast<double>(value)));
    };
    number("temperature", sampler.temperature);
    number("top_p", sampler.top_p);
    number("min_p", sampler.min_p);
    number("repeat_penalty", sampler.repeat_penalty);
    sampler.top_k = static_cast<int>(std::clamp<int64_t>(stored.integer("top_k").value_or(sampler.top_k), 0, 1 << 20));
    if (const auto seed = stored.text("seed")) sampler.seed = std::strtoull(seed->c_str(), nullptr, 10);
    return check_sampler_options(sampler) ? sampler : defaults;
}

}  // namespace

ConversationSettings from_stored(const Settings& stored, const ConversationSettings& defaults) {
    ConversationSettings settings = defaults;
    settings.cache.kv = kv_from_stored(stored, defaults.cache.kv);
    settings.cache.context_length =
        std::max<int64_t>(1, stored.integer("context").value_or(defaults.cache.context_length));
    settings.sampling.sampler = sampler_from_stored(stored, defaults.sampling.sampler);
    settings.sampling.max_tokens =
        std::max<int64_t>(0, stored.integer("max_tokens").value_or(defaults.sampling.max_tokens));
    settings.sampling.thinking = stored.flag("thinking").value_or(defaults.sampling.thinking);
    settings.sampling.system_prompt = stored.text("system_prompt").value_or(defaults.sampling.system_prompt);
    const auto count = [&](const char* key) { return std::max<int64_t>(0, stored.integer(key).value_or(0)); };
    settings.first_message_read = count("first_message_read");
    settings.dropped_tokens = count("dropped_tokens");
    settings.dropped_at = count("dropped_at");
    return settings;
}

}  // namespace octavo
