// What both config readers share, as data: architectures, names and limits of sizes, and the checks across sizes.
// Private to models/.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "kernels/base/error.h"
#include "models/hybrid/config.h"
#include "models/hybrid/rope.h"

namespace octavo {

struct Architecture {
    std::string_view name;          // general.architecture
    std::string_view hf_type;       // model_type
    std::string_view hf_text_type;  // model_type of the text part
    bool dense = false;             // one feed-forward block instead of experts
    bool gguf_tiles_heads = false;  // GGUF files order value heads tiled (model_spec section 9.3)
};

const Architecture* find_architecture(std::string_view gguf_name);
const Architecture* find_hf_architecture(std::string_view model_type);

enum class Naming { gguf, hugging_face };

struct SizeField {
    int HybridConfig::*member;
    std::string_view gguf;  // after "<architecture>."
    std::string_view hf;
    int most;
};

// Sizes that stand in the metadata as they are, each at least 1.
std::span<const SizeField> common_sizes();
std::span<const SizeField> expert_sizes();
std::span<const SizeField> dense_sizes();

constexpr int kMostLayers = 1024;
constexpr int kMostVocab = 1 << 21;
constexpr int kMostHeadDim = 1024;
constexpr int kMostContext = 1 << 26;  // tokens

Error out_of_range(std::string_view key, int64_t value, int64_t least, int64_t most);
// `what` of a setting must be a finite number from `least` to `most`.
Status check_real(std::string_view key, double value, double least, double most);

// Checks sizes against each other, then fills what follows from them: rotary table, value-head map, context length.
// `config.layer_kinds` and all sizes are set.
Status finish_config(HybridConfig& config, const RopeSettings& rope, Naming naming, bool tiled_heads);

}  // namespace octavo
