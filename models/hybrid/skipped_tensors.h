// Says in sentences which tensors of a checkpoint stay unused, and refuses those that would change the result.
// Private to models/hybrid.
#pragma once

#include <string>
#include <vector>

#include "kernels/base/error.h"
#include "models/hybrid/config_reader.h"
#include "models/hybrid/tensor_names.h"
#include "models/hybrid/tensor_reader.h"
#include "models/tensors/tensor_store.h"

namespace octavo {

Result<std::vector<std::string>> skipped_tensor_notes(const HybridDescription& description, const TensorStore& store,
                                                      const TensorNames& names, const TensorReader& reader);

}  // namespace octavo
