#include "models/random/type_mix.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "kernels/weight_type.h"
#include "models/random/random_blocks.h"

namespace octavo {
namespace {

constexpr uint32_t kF32 = 0;
constexpr uint32_t kQ4K = 12;
constexpr uint32_t kQ5K = 13;
constexpr uint32_t kQ6K = 14;
constexpr std::string_view kMedium = "q4_k_m";

std::string lower(std::string_view text) {
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(), [](unsigned char c) { return std::tolower(c); });
    return result;
}

std::string known_names() {
    std::string names;
    for (const WeightTypeSpec& spec : weight_types()) {
        if (can_fill(spec)) names += lower(spec.name) + ", ";
    }
    return names + std::string(kMedium);
}

// The first and last eighth of the layers, and every third between.
bool gets_more_bits(int layer, int layers) {
    const int eighth = layers / 8;
    return layer < eighth || layer >= layers - eighth || (layer - eighth) % 3 == 2;
}

}  // namespace

Result<TypeMix> parse_type_mix(std::string_view name) {
    const std::string wanted = lower(name);
    if (wanted == kMedium && find_weight_type(kQ6K) != nullptr) return TypeMix{kQ4K, true};
    for (const WeightTypeSpec& spec : weight_types()) {
        if (can_fill(spec) && lower(spec.name) == wanted) return TypeMix{spec.gguf_id, false};
    }
    return Error{ErrorKind::usage,
                 fmt::format("there is no weight type '{}' to write; types: {}.", name, known_names())};
}

std::string type_mix_name(const TypeMix& mix) {
    return std::string(weight_type_name(mix.base)) + (mix.medium ? "_M" : "");
}

uint32_t tensor_type(const TypeMix& mix, const ListedTensor& tensor, int layers) {
    if (tensor.role == TensorRole::small) return kF32;
    if (!mix.medium) return mix.base;
    switch (tensor.role) {
        case TensorRole::head: return kQ6K;
        case TensorRole::delta_net_qkv: return kQ5K;
        case TensorRole::attention_v:
        case TensorRole::expert_down: return gets_more_bits(tensor.layer, layers) ? kQ6K : mix.base;
        default: return mix.base;
    }
}

}  // namespace octavo
