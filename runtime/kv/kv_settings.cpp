#include "runtime/kv/kv_settings.h"

#include <fmt/core.h>

#include <array>
#include <utility>

namespace octavo {
namespace {

template <class Value, size_t N>
using Names = std::array<std::pair<std::string_view, Value>, N>;

constexpr Names<KvRotation, 3> kRotations{
    {{"auto", KvRotation::automatic}, {"on", KvRotation::on}, {"off", KvRotation::off}}};
constexpr Names<KvEqualise, 3> kEqualise{
    {{"off", KvEqualise::off}, {"free", KvEqualise::free}, {"calibrated", KvEqualise::calibrated}}};
constexpr Names<KvEncoder, 2> kEncoders{{{"reference", KvEncoder::reference}, {"refined", KvEncoder::refined}}};

template <class Value, size_t N>
Result<Value> parse(const Names<Value, N>& names, std::string_view text, std::string_view what) {
    std::string known;
    for (const auto& [name, value] : names) {
        if (name == text) return value;
        known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
    }
    return Error{ErrorKind::usage, fmt::format("\"{}\" is no {}; there are {}.", text, what, known)};
}

template <class Value, size_t N>
std::string_view name_of(const Names<Value, N>& names, Value wanted) {
    for (const auto& [name, value] : names) {
        if (value == wanted) return name;
    }
    return {};
}

Status check_format(KvFormat format, const KvShape& shape) {
    const KvFormatSpec& spec = kv_format_spec(format);
    if (shape.head_dim % spec.dim_multiple == 0) return {};
    return Error{
        ErrorKind::usage,
        fmt::format("The KV format {} stores rows whose length is a multiple of {}; this model's head_dim is {}. "
                    "Choose another format.",
                    spec.name, spec.dim_multiple, shape.head_dim)};
}

Status check_cells(std::string_view what, int64_t cells, int64_t context_length) {
    if (cells >= 0 && cells <= context_length) return {};
    return Error{ErrorKind::usage,
                 fmt::format("A KV {} of {} tokens was asked for; 0 to {} (the context) are possible.", what, cells,
                             context_length)};
}

}  // namespace

Result<KvRotation> parse_kv_rotation(std::string_view text) { return parse(kRotations, text, "rotation"); }
Result<KvEqualise> parse_kv_equalise(std::string_view text) { return parse(kEqualise, text, "channel equalisation"); }
Result<KvEncoder> parse_kv_encoder(std::string_view text) { return parse(kEncoders, text, "KV encoder"); }
std::string_view kv_rotation_name(KvRotation rotation) { return name_of(kRotations, rotation); }
std::string_view kv_equalise_name(KvEqualise equalise) { return name_of(kEqualise, equalise); }
std::string_view kv_encoder_name(KvEncoder encoder) { return name_of(kEncoders, encoder); }

bool KvSettings::rotates(KvFormat side) const {
    const KvFormatSpec& spec = kv_format_spec(side);
    if (rotation == KvRotation::automatic) return spec.rotates;
    return rotation == KvRotation::on;
}

KvSettings default_kv_settings(const KvScheme& scheme) {
    KvSettings settings;
    settings.scheme = scheme;
    if (scheme.raw()) return settings;
    settings.window = KvSettings::default_window;
    settings.sinks = KvSettings::default_sinks;
    return settings;
}

Status check_kv_settings(const KvSettings& settings, const KvShape& shape, int64_t context_length) {
    for (const KvFormat format : {settings.scheme.k, settings.scheme.v}) {
        if (Status status = check_format(format, shape); !status) return status;
    }
    if (Status status = check_cells("window", settings.window, context_length); !status) return status;
    if (Status status = check_cells("sink region", settings.sinks, context_length); !status) return status;
    if (settings.scheme.raw() && (settings.window > 0 || settings.sinks > 0)) {
        return Error{
            ErrorKind::usage,
            fmt::format("The KV scheme {} keeps every token as it is, so it takes no FP16 window ({} tokens) and "
                        "no sinks ({}); set both to 0 or choose a quantised scheme.",
                        kv_scheme_name(settings.scheme), settings.window, settings.sinks)};
    }
    return {};
}

std::string describe_kv_settings(const KvSettings& settings) {
    std::string text = kv_scheme_name(settings.scheme);
    if (settings.window > 0) text += fmt::format(", window {}", settings.window);
    if (settings.sinks > 0) text += fmt::format(", sinks {}", settings.sinks);
    if (settings.rotation != KvRotation::automatic)
        text += fmt::format(", rotation {}", kv_rotation_name(settings.rotation));
    if (settings.encoder != KvEncoder::refined) text += fmt::format(", {} encoder", kv_encoder_name(settings.encoder));
    return text;
}

int64_t kv_overlay_bytes(const KvShape& shape, const KvSettings& settings) {
    constexpr int64_t sides = 2;
    const int64_t row_bytes = int64_t{shape.kv_heads} * shape.head_dim * static_cast<int64_t>(sizeof(f16_bits));
    return shape.layers * (settings.window + settings.sinks) * sides * row_bytes;
}

int64_t kv_open_group_bytes(const KvShape& shape, const KvScheme& scheme) {
    const int64_t row_bytes = int64_t{shape.kv_heads} * shape.head_dim * static_cast<int64_t>(sizeof(f16_bits));
    int64_t sides = 0;
    for (const KvFormat format : {scheme.k, scheme.v}) sides += kv_format_spec(format).per_channel() ? 1 : 0;
    return shape.layers * sides * kKvGroupCells * row_bytes;
}

}  // namespace octavo
