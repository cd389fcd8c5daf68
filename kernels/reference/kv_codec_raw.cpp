#include <cmath>
#include <cstring>

#include "kernels/kv_codec.h"

namespace octavo::kv_codec {
namespace {

template <class Stored>
void put(std::byte* payload, int index, Stored value) {
    std::memcpy(payload + static_cast<size_t>(index) * sizeof value, &value, sizeof value);
}

template <class Stored>
Stored get(const std::byte* payload, int index) {
    Stored value;
    std::memcpy(&value, payload + static_cast<size_t>(index) * sizeof value, sizeof value);
    return value;
}

template <class Stored, Stored (*store)(float), float (*load)(Stored)>
constexpr KvCodec raw() {
    return {[](const float* x, int count, std::byte* payload, f16_bits*, KvEncoder) {
                bool finite = true;
                for (int i = 0; i < count; ++i) {
                    const Stored stored = store(x[i]);
                    put(payload, i, stored);
                    finite = finite && std::isfinite(load(stored));
                }
                return finite;
            },
            [](const std::byte* payload, const f16_bits*, int count, float* x) {
                for (int i = 0; i < count; ++i) x[i] = load(get<Stored>(payload, i));
            }};
}

float same(float x) { return x; }

}  // namespace

const KvCodec f32 = raw<float, same, same>();
const KvCodec f16 = raw<f16_bits, f32_to_f16, f16_to_f32>();
const KvCodec bf16 = raw<bf16_bits, f32_to_bf16, bf16_to_f32>();

}  // namespace octavo::kv_codec
