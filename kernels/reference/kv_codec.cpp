#include "kernels/reference/kv_codec.h"

#include <cassert>
#include <cstring>
#include <iterator>

#include "kernels/base/half.h"

namespace octavo {
namespace {

float f32_to_f32(float value) { return value; }

// Formats without scales: each value converted by itself and stored as T.
template <class T, T (*convert)(float)>
void encode_plain(const float* values, int head_dim, std::byte* payload, std::byte*) {
    for (int i = 0; i < head_dim; ++i) {
        const T stored = convert(values[i]);
        std::memcpy(payload + i * sizeof stored, &stored, sizeof stored);
    }
}

template <class T, float (*convert)(T)>
void decode_plain(const std::byte* payload, const std::byte*, int head_dim, float* values) {
    for (int i = 0; i < head_dim; ++i) {
        T stored;
        std::memcpy(&stored, payload + i * sizeof stored, sizeof stored);
        values[i] = convert(stored);
    }
}

// In the order of KvFormat.
constexpr KvCodec kCodecs[] = {
    {encode_plain<float, f32_to_f32>, decode_plain<float, f32_to_f32>},
    {encode_plain<f16_bits, f32_to_f16>, decode_plain<f16_bits, f16_to_f32>},
    {encode_plain<bf16_bits, f32_to_bf16>, decode_plain<bf16_bits, bf16_to_f32>},
};

}  // namespace

const KvCodec& kv_codec(KvFormat format) {
    assert(static_cast<size_t>(format) < std::size(kCodecs));
    return kCodecs[static_cast<size_t>(format)];
}

}  // namespace octavo
