// How one full-attention layer's keys and values lie in memory. A *cell* is one token position in one layer; a *row* is
// the head_dim values of one KV head in one cell. Payload and scales are two separate arrays, each ordered
// [cell][kv_heads][row].
//
// Source: kv_formats (the design's bit-exact definitions), section 2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace octavo {

enum class KvFormat : uint8_t { f32, f16, bf16 };

struct KvFormatSpec {
    KvFormat format;
    std::string_view name;
    int payload_bits;  // per value
    int block_values;  // values that share a scale along head_dim; 0: no scales
};

std::span<const KvFormatSpec> kv_formats();
const KvFormatSpec& kv_format_spec(KvFormat format);
const KvFormatSpec* find_kv_format(std::string_view name);

int64_t kv_payload_bytes_per_row(KvFormat format, int head_dim);
int64_t kv_scale_bytes_per_row(KvFormat format, int head_dim);

// One side (K or V) of one layer's cache.
struct KvSide {
    KvFormat format = KvFormat::f16;
    std::byte* payload = nullptr;  // [cells][kv_heads][payload_bytes_per_row]
    std::byte* scales = nullptr;   // [cells][kv_heads][scale_bytes_per_row]; nullptr without scales
};

// One layer's cache as kernels see it. The pools behind it are committed for every cell that is stored or read.
struct KvView {
    int kv_heads = 0;
    int head_dim = 0;
    KvSide k;
    KvSide v;
};

}  // namespace octavo
