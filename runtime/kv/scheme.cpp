#include "runtime/kv/scheme.h"

#include <fmt/core.h>

namespace octavo {
namespace {

constexpr KvSchemeSpec schemes[] = {
    {"f32", KvFormat::f32, KvFormat::f32, false, "32 bits, exact: for parity runs"},
    {"f16", KvFormat::f16, KvFormat::f16, true, "16 bits with 11 significant ones: nearly exact"},
    {"bf16", KvFormat::bf16, KvFormat::bf16, true, "16 bits with 8 significant ones: what most models are trained in"},
};

std::string known_schemes() {
    std::string names;
    for (const KvSchemeSpec& spec : schemes) names += fmt::format("{}{}", names.empty() ? "" : ", ", spec.name);
    return names;
}

// Formats that a conversation can be kept in: the others have no scheme yet.
const KvFormatSpec* usable_format(std::string_view name) {
    const KvFormatSpec* spec = find_kv_format(name);
    return spec != nullptr && spec->raw() ? spec : nullptr;
}

std::string usable_formats() {
    std::string names;
    for (const KvFormatSpec& spec : kv_formats()) {
        if (spec.raw()) names += fmt::format("{}{}", names.empty() ? "" : ", ", spec.name);
    }
    return names;
}

Error unknown_scheme(std::string_view text) {
    return {ErrorKind::usage, fmt::format("There is no KV scheme \"{}\"; there are {}, and pairs such as k=f16,v=bf16.",
                                          text, known_schemes())};
}

// "k=f16,v=bf16"
Result<KvScheme> parse_pair(std::string_view text) {
    const size_t comma = text.find(',');
    if (comma == std::string_view::npos) return unknown_scheme(text);
    const KvFormatSpec* k = nullptr;
    const KvFormatSpec* v = nullptr;
    for (const std::string_view part : {text.substr(0, comma), text.substr(comma + 1)}) {
        const std::string_view side = part.substr(0, 2);
        if (side != "k=" && side != "v=") return unknown_scheme(text);
        const KvFormatSpec*& format = side == "k=" ? k : v;
        if (format != nullptr) {
            return Error{ErrorKind::usage,
                         fmt::format("The KV pair \"{}\" names {} twice; write k=...,v=...", text, side[0])};
        }
        format = usable_format(part.substr(2));
        if (format == nullptr) {
            return Error{ErrorKind::usage, fmt::format("There is no KV format \"{}\" (in \"{}\"); there are {}.",
                                                       part.substr(2), text, usable_formats())};
        }
    }
    return KvScheme{k->format, v->format};
}

}  // namespace

std::span<const KvSchemeSpec> kv_schemes() { return schemes; }

std::string kv_scheme_name(const KvScheme& scheme) {
    for (const KvSchemeSpec& spec : schemes) {
        if (scheme == KvScheme{spec.k, spec.v}) return std::string(spec.name);
    }
    return fmt::format("k={},v={}", kv_format_spec(scheme.k).name, kv_format_spec(scheme.v).name);
}

Result<KvScheme> parse_kv_scheme(std::string_view text) {
    if (text.find('=') != std::string_view::npos) return parse_pair(text);
    for (const KvSchemeSpec& spec : schemes) {
        if (spec.name == text) return KvScheme{spec.k, spec.v};
    }
    return unknown_scheme(text);
}

}  // namespace octavo
