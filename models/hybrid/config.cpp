#include "models/hybrid/config.h"

#include <algorithm>

namespace octavo {

int HybridConfig::attention_layers() const {
    return static_cast<int>(std::count(layer_kinds.begin(), layer_kinds.end(), LayerKind::full_attention));
}

int HybridConfig::gdn_layers() const {
    return static_cast<int>(std::count(layer_kinds.begin(), layer_kinds.end(), LayerKind::gated_delta_net));
}

}  // namespace octavo
