// Fills HybridConfig from either kind of metadata. Sizes are checked one by one and against each other here, so that
// everything after it may multiply them without overflow.
//
// Errors: one sentence with the key as the file calls it. Threads: pure functions.
// Source: model_spec sections 1 and 9.1.
#pragma once

#include <string_view>

#include "kernels/base/error.h"
#include "models/gguf/metadata.h"
#include "models/hybrid/config.h"
#include "models/tensors/tensor_store.h"

namespace octavo {

struct HybridDescription {
    HybridConfig config;
    int draft_layers = 0;          // MTP blocks that follow the trunk in the file's own layer count
    bool tied_embeddings = false;  // no head of its own is expected
};

// Whether a general.architecture is one of this family.
bool is_hybrid_architecture(std::string_view name);

// The vocabulary's size is that of the embedding tensor.
Result<HybridDescription> read_hybrid_config(const GgufMetadata& metadata, const TensorStore& tensors);
// `json`: text of a config.json.
Result<HybridDescription> read_hybrid_config(std::string_view json);

}  // namespace octavo
