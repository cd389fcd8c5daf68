// How the float32 values of one cache row become the bytes of a KvFormat and come back.
// Source: kv_formats (the design's bit-exact definitions), section 2.
#pragma once

#include <cstddef>

#include "kernels/kv_format.h"

namespace octavo {

struct KvCodec {
    // values[head_dim] -> payload[kv_payload_bytes_per_row], scales[kv_scale_bytes_per_row] (unused without scales)
    void (*encode)(const float* values, int head_dim, std::byte* payload, std::byte* scales);
    void (*decode)(const std::byte* payload, const std::byte* scales, int head_dim, float* values);
};

const KvCodec& kv_codec(KvFormat format);

}  // namespace octavo
