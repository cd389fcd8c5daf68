#include "kernels/kv_format.h"

#include <cassert>

namespace octavo {
namespace {

// In the order of KvFormat.
constexpr KvFormatSpec kFormats[] = {
    {.format = KvFormat::f32, .name = "f32", .payload_bits = 32, .block_values = 0},
    {.format = KvFormat::f16, .name = "f16", .payload_bits = 16, .block_values = 0},
    {.format = KvFormat::bf16, .name = "bf16", .payload_bits = 16, .block_values = 0},
};

constexpr int kScaleBytes = 2;  // a scale is an FP16 number

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
    return nullptr;
}

int64_t kv_payload_bytes_per_row(KvFormat format, int head_dim) {
    return (int64_t{head_dim} * kv_format_spec(format).payload_bits + 7) / 8;
}

int64_t kv_scale_bytes_per_row(KvFormat format, int head_dim) {
    const int block_values = kv_format_spec(format).block_values;
    return block_values == 0 ? 0 : int64_t{head_dim} / block_values * kScaleBytes;
}

}  // namespace octavo
