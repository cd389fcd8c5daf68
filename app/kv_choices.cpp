#include "app/kv_choices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "app/size_text.h"

namespace octavo {
namespace {

template <class Value, class Parse>
Result<std::vector<Value>> parse_all(const std::vector<std::string>& words, Parse parse) {
    std::vector<Value> values;
    for (const std::string& word : words) {
        Result<Value> value = parse(word);
        if (!value) return value.error();
        values.push_back(*value);
    }
    return values;
}

Result<std::vector<KvScheme>> parse_schemes(const std::vector<std::string>& arguments) {
    std::vector<KvScheme> schemes;
    for (const std::string& word : list_words(arguments)) {
        if (word == "all") {
            for (const KvSchemeSpec& spec : kv_schemes()) schemes.push_back({spec.k, spec.v});
            continue;
        }
        const Result<KvScheme> scheme = parse_kv_scheme(word);
        if (!scheme) return scheme.error();
        schemes.push_back(*scheme);
    }
    return schemes;
}

bool come_to_the_same(const KvSettings& a, const KvSettings& b) {
    const bool same_encoder = a.encoder == b.encoder || a.scheme.raw();
    return a.scheme == b.scheme && a.window == b.window && a.sinks == b.sinks && same_encoder &&
           a.rotates_k() == b.rotates_k() && a.rotates_v() == b.rotates_v();
}

void add_list(CLI::App& command, const char* name, std::vector<std::string>& values, const char* type,
              const std::string& description) {
    command.add_option(name, values, description)->type_name(type)->expected(1, 100);
}

}  // namespace

std::vector<std::string> list_words(const std::vector<std::string>& arguments) {
    std::vector<std::string> words;
    for (std::string argument : arguments) {
        std::replace(argument.begin(), argument.end(), ',', ' ');
        std::istringstream in(argument);
        for (std::string word; in >> word;) {
            const bool half = word.find('=') != std::string::npos;
            const bool completes = half && !words.empty() && words.back().find('=') != std::string::npos &&
                                   words.back().find(',') == std::string::npos;
            if (completes) {
                words.back() += "," + word;
            } else {
                words.push_back(word);
            }
        }
    }
    return words;
}

void add_kv_choices(CLI::App& command, KvChoices& choices) {
    add_list(command, "--kv", choices.schemes, "LIST",
             "KV schemes, with spaces or commas between them, or all; k=A,v=B too (default: " +
                 fmt::format("{})", fmt::join(choices.schemes, " ")));
    add_list(command, "--kv-window", choices.windows, "LIST",
             "Newest tokens that stay in FP16 too (default: the scheme's)");
    add_list(command, "--kv-sinks", choices.sinks, "LIST",
             "First tokens that stay in FP16 too (default: the scheme's)");
    add_list(command, "--rotate", choices.rotations, "LIST", "on, off, auto: rotation of rows (default: auto)");
    add_list(command, "--encoder", choices.encoders, "LIST", "reference, refined (default: refined)");
}

Status check_all_kv_settings(const std::vector<KvSettings>& all, const KvShape& shape, int64_t context_length) {
    for (const KvSettings& settings : all) {
        if (Status status = check_kv_settings(settings, shape, context_length); !status) return status;
    }
    return {};
}

KvSettings default_kv_settings_within(const KvScheme& scheme, int64_t context) {
    KvSettings settings = default_kv_settings(scheme);
    if (context > 0) {
        settings.window = std::min(settings.window, context);
        settings.sinks = std::min(settings.sinks, context);
    }
    return settings;
}

Result<std::vector<KvSettings>> kv_settings_of(const KvChoices& choices, int64_t context) {
    const auto schemes = parse_schemes(choices.schemes);
    if (!schemes) return schemes.error();
    const auto windows = parse_all<int64_t>(list_words(choices.windows), parse_size);
    if (!windows) return windows.error();
    const auto sinks = parse_all<int64_t>(list_words(choices.sinks), parse_size);
    if (!sinks) return sinks.error();
    const auto rotations = parse_all<KvRotation>(list_words(choices.rotations), parse_kv_rotation);
    if (!rotations) return rotations.error();
    const auto encoders = parse_all<KvEncoder>(list_words(choices.encoders), parse_kv_encoder);
    if (!encoders) return encoders.error();

    std::vector<KvSettings> all;
    const auto add = [&all](const KvSettings& settings) {
        const auto same = [&settings](const KvSettings& other) { return come_to_the_same(settings, other); };
        if (std::none_of(all.begin(), all.end(), same)) all.push_back(settings);
    };
    for (const KvScheme& scheme : *schemes) {
        const KvSettings defaults = default_kv_settings_within(scheme, context);
        const bool fixed = scheme.raw();  // no overlay possible
        const auto windows_here = fixed || windows->empty() ? std::vector{defaults.window} : *windows;
        const auto sinks_here = fixed || sinks->empty() ? std::vector{defaults.sinks} : *sinks;
        for (const int64_t window : windows_here)
            for (const int64_t sink : sinks_here)
                for (const KvRotation rotation : *rotations)
                    for (const KvEncoder encoder : *encoders) add({scheme, rotation, window, sink, encoder});
    }
    return all;
}

}  // namespace octavo
