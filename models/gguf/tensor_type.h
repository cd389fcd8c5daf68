// Block geometry of every tensor type a GGUF file may hold, decodable by this build or not: enough to know how many
// bytes a tensor takes. Names come from kernels/weight_type.h.
#pragma once

#include <cstdint>

namespace octavo {

struct GgufBlock {
    uint32_t gguf_id;
    int values;  // a row is a whole number of blocks
    int bytes;
};

// nullptr: no such type (numbers of types that were withdrawn are unknown too).
const GgufBlock* find_gguf_block(uint32_t gguf_id);

}  // namespace octavo
