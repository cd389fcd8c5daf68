// Which weight type each tensor of a file has: one type for all matrices, or a mix as quantisers write it. Vectors, the
// router and the convolution are always float32.
//
// Threads: pure functions. Source: model_spec section 9.4.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/base/error.h"
#include "models/random/tensor_list.h"

namespace octavo {

struct TypeMix {
    uint32_t base = 0;    // GGUF type number of most matrices
    bool medium = false;  // "_m": more bits where they matter most, as Q4_K_M has them
};

// "q4_k", "f16", ... or "q4_k_m". ErrorKind::usage with the names that there are.
Result<TypeMix> parse_type_mix(std::string_view name);

std::string type_mix_name(const TypeMix& mix);  // "Q4_K", "Q4_K_M"

// GGUF type number of a tensor in a model of `layers` layers.
uint32_t tensor_type(const TypeMix& mix, const ListedTensor& tensor, int layers);

}  // namespace octavo
