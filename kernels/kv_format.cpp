#include "kernels/kv_format.h"

#include <cassert>

namespace octavo {
namespace {

// In the order of KvFormat.
constexpr KvFormatSpec kFormats[] = {
    // format, name, payload_bits, scale_values, group_cells, dim_multiple, rotates, codec
    {KvFormat::f32, "f32", 32, kNoScale, 1, 1, false, &kv_codec::f32},
    {KvFormat::f16, "f16", 16, kNoScale, 1, 1, false, &kv_codec::f16},
    {KvFormat::bf16, "bf16", 16, kNoScale, 1, 1, false, &kv_codec::bf16},
    {KvFormat::q8_0, "q8_0", 8, 32, 1, 32, false, &kv_codec::q8_0},
    {KvFormat::fp8_e4m3, "fp8_e4m3", 8, 32, 1, 32, false, &kv_codec::fp8_e4m3},
    {KvFormat::q6_0, "q6_0", 6, 32, 1, 32, true, &kv_codec::q6_0},
    {KvFormat::q4_0, "q4_0", 4, 32, 1, 32, true, &kv_codec::q4_0},
    {KvFormat::q8r, "q8r", 8, kWholeRow, 1, 1, false, &kv_codec::q8r},
    {KvFormat::q6r, "q6r", 6, kWholeRow, 1, 4, true, &kv_codec::q6r},
    {KvFormat::q4r, "q4r", 4, kWholeRow, 1, 2, true, &kv_codec::q4r},
    {KvFormat::q2c, "q2c", 2, 32, kKvGroupCells, 16, false, &kv_codec::q2},
    {KvFormat::q2t, "q2t", 2, 32, 1, 32, true, &kv_codec::q2},
    {KvFormat::q4_nl, "q4_nl", 4, 32, 1, 32, true, &kv_codec::q4_nl},
};

struct Alias {
    std::string_view alias;
    KvFormat format;
};
constexpr Alias kAliases[] = {
    {"6", KvFormat::q6r},     {"6bit", KvFormat::q6r}, {"int6", KvFormat::q6r},
    {"uint6", KvFormat::q6r}, {"fp16", KvFormat::f16}, {"fp8", KvFormat::fp8_e4m3},
};

constexpr int kChannelRunBytes = 8;  // 32 two-bit codes

constexpr bool in_order() {
    size_t index = 0;
    for (const KvFormatSpec& spec : kFormats) {
        if (static_cast<size_t>(spec.format) != index++) return false;
    }
    return true;
}
static_assert(in_order());

}  // namespace

std::span<const KvFormatSpec> kv_formats() { return kFormats; }

const KvFormatSpec& kv_format_spec(KvFormat format) {
    assert(static_cast<size_t>(format) < std::size(kFormats));
    return kFormats[static_cast<size_t>(format)];
}

const KvFormatSpec* find_kv_format(std::string_view name) {
    for (const KvFormatSpec& spec : kFormats) {
        if (spec.name == name) return &spec;
    }
    for (const Alias& alias : kAliases) {
        if (alias.alias == name) return &kv_format_spec(alias.format);
    }
    return nullptr;
}

int64_t kv_payload_bytes_per_row(KvFormat format, int head_dim) {
    return int64_t{head_dim} * kv_format_spec(format).payload_bits / 8;
}

int64_t kv_scale_bytes_per_row(KvFormat format, int head_dim) {
    constexpr int64_t scale_bytes = sizeof(f16_bits);
    const KvFormatSpec& spec = kv_format_spec(format);
    if (spec.scale_values == kNoScale) return 0;
    if (spec.scale_values == kWholeRow) return scale_bytes;
    return int64_t{head_dim} * scale_bytes / spec.scale_values;  // per channel: head_dim scales shared by 32 cells
}

std::byte* kv_payload_at(const KvView& view, const KvSide& side, int64_t cell, int head) {
    const KvFormatSpec& spec = kv_format_spec(side.format);
    const int64_t row = cell / spec.group_cells * view.kv_heads + head;
    const int64_t bytes = spec.per_channel() ? int64_t{view.head_dim} * kChannelRunBytes
                                             : kv_payload_bytes_per_row(side.format, view.head_dim);
    return side.payload + row * bytes;
}

f16_bits* kv_scales_at(const KvView& view, const KvSide& side, int64_t cell, int head) {
    const KvFormatSpec& spec = kv_format_spec(side.format);
    const int64_t row = cell / spec.group_cells * view.kv_heads + head;
    const int64_t scales = spec.per_channel() ? view.head_dim
                                              : kv_scale_bytes_per_row(side.format, view.head_dim) /
                                                    static_cast<int64_t>(sizeof(f16_bits));
    return reinterpret_cast<f16_bits*>(side.scales) + row * scales;
}

}  // namespace octavo
