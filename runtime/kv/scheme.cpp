#include "runtime/kv/scheme.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

namespace octavo {
namespace {

constexpr KvSchemeSpec schemes[] = {
    {"f32", KvFormat::f32, KvFormat::f32, false, "32 bits, exact: for parity runs"},
    {"f16", KvFormat::f16, KvFormat::f16, true, "16 bits with 11 significant ones: nearly exact"},
    {"bf16", KvFormat::bf16, KvFormat::bf16, true, "16 bits with 8 significant ones: what most models are trained in"},
    {"q8_0", KvFormat::q8_0, KvFormat::q8_0, true, "8 bits, a scale per 32 values: half of f16, error about 0.5%"},
    {"fp8_e4m3", KvFormat::fp8_e4m3, KvFormat::fp8_e4m3, true, "8-bit floats, a scale per 32 values: error about 2.4%"},
    {"q6_0", KvFormat::q6_0, KvFormat::q6_0, true, "6 bits, a scale per 32 values: error about 2.1%"},
    {"q4_0", KvFormat::q4_0, KvFormat::q4_0, true, "4 bits, a scale per 32 values: error about 8.4%"},
    {"q8r", KvFormat::q8r, KvFormat::q8r, true, "8 bits, a scale per row: error about 0.7%"},
    {"q6r", KvFormat::q6r, KvFormat::q6r, true, "6 bits, a scale per row: error about 2.9%"},
    {"q4r", KvFormat::q4r, KvFormat::q4r, true, "4 bits, a scale per row: error about 13%"},
    {"q2k", KvFormat::q2c, KvFormat::q4_0, true, "K 2 bits per channel, V 4 bits: for the longest contexts"},
    {"q2", KvFormat::q2c, KvFormat::q2c, true, "2 bits per channel on both sides: loses short answers"},
    {"kivi2", KvFormat::q2c, KvFormat::q2t, true, "K 2 bits per channel, V 2 bits per token"},
    {"k4v2c", KvFormat::q4_0, KvFormat::q2c, true, "K 4 bits, V 2 bits per channel: the opposite split of q2k"},
    {"q4_nl", KvFormat::q4_nl, KvFormat::q4_nl, true, "4 bits on a Gaussian codebook: error about 7.6%"},
};

std::string known_schemes() {
    std::string names;
    for (const KvSchemeSpec& spec : schemes) names += fmt::format("{}{}", names.empty() ? "" : ", ", spec.name);
    for (const KvFormatSpec& format : kv_formats()) {  // also a scheme, on both sides
        const auto is_format = [&](const KvSchemeSpec& spec) { return spec.name == format.name; };
        if (std::none_of(std::begin(schemes), std::end(schemes), is_format)) names += fmt::format(", {}", format.name);
    }
    return names;
}

std::string known_formats() {
    std::string names;
    for (const KvFormatSpec& spec : kv_formats()) names += fmt::format("{}{}", names.empty() ? "" : ", ", spec.name);
    return names;
}

Error unknown_scheme(std::string_view text) {
    if (text == "q6_k") {  // a name people know from weights
        return {ErrorKind::usage, "q6_k is a weight format, not a KV scheme; the 6-bit schemes are q6_0 and q6r."};
    }
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
        format = find_kv_format(part.substr(2));
        if (format == nullptr) {
            return Error{ErrorKind::usage, fmt::format("There is no KV format \"{}\" (in \"{}\"); there are {}.",
                                                       part.substr(2), text, known_formats())};
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
    if (const KvFormatSpec* format = find_kv_format(text)) return KvScheme{format->format, format->format};
    return unknown_scheme(text);
}

}  // namespace octavo
