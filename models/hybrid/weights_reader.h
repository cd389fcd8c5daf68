// From the tensors of a checkpoint to HybridWeights: by name, with exact shapes, both formats through one path.
//
// What differs between formats and their generations (fused or separate projections, row order, stacked or single
// experts, zero-centred norms) is settled here; see model_spec section 9. Matrices stay in the file.
// Errors: one sentence that names the tensor. Threads: pure function.
// A draft (MTP) block that is broken is left out with a note, since the trunk does not need it.
// Non-goal: vision parts, which are skipped with a note.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/error.h"
#include "models/hybrid/config_reader.h"
#include "models/hybrid/tensor_names.h"
#include "models/hybrid/weights.h"
#include "models/tensors/tensor_store.h"

namespace octavo {

struct HybridWeightsFile {
    HybridWeights weights;
    std::vector<DraftWeights> drafts;    // nothing uses them yet
    int64_t draft_bytes = 0;             // of their tensors
    std::shared_ptr<const void> floats;  // owner of the small vectors
    int64_t bytes = 0;                   // of the tensors in use
    int64_t parameters = 0;
    std::map<std::string, int64_t> bytes_by_type;
    std::vector<std::string> notes;  // what was skipped
};

// Whether every layer of the trunk has a tensor at all.
// `layers_key`: what the file calls the number of layers, for messages.
Status check_layers_exist(const HybridConfig& config, const TensorStore& store, const TensorNames& names,
                          std::string_view layers_key);

// `layers_key`: what the file calls the number of layers, for messages.
Result<HybridWeightsFile> read_hybrid_weights(const HybridDescription& description, const TensorStore& store,
                                              const TensorNames& names, std::string_view layers_key);

}  // namespace octavo
