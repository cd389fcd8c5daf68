// Products of low-bit weights with activations rounded to 8 bits: the table through which the CPU back end calls code
// that is compiled once per instruction set (isa/int8/).
//
// A product of a weight row and a token is the sum, over blocks of 32 columns in order, of the block's scale times a
// whole-number dot product. Whole numbers add up exactly and the order of the rest is fixed, so that a product has the
// same bits whatever the number of tokens, rows and threads.
#pragma once

#include <cstdint>

#include "kernels/cpu/isa_kernels.h"
#include "kernels/weight_type.h"

namespace octavo {

inline constexpr int kInt8Block = 32;

// Columns that the kernels of nvfp4_apart take together; blocks of all other types are no smaller than their steps.
inline constexpr int kNvfp4ApartStep = 64;

// 32 activations: x[i] = scale * codes[i], with scale = largest |x| / 127. The sums are of codes, times -1: what zero
// points and minima of the weights are multiplied with.
struct Int8Block {
    int8_t codes[kInt8Block];
    float scale;  // NaN or infinite where an activation is
    float negative_sum;
    float negative_half_sums[2];  // of codes 0..15 and 16..31
};
static_assert(sizeof(Int8Block) == 48);

struct Int8Kernels {
    // Rounds x[count] to count / 32 blocks.
    void (*quantise)(const float* x, int64_t count, Int8Block* blocks);
    // Reads op.x_int8. nullptr: the type is multiplied in float32.
    void (*dot[kWeightTypes])(const DotProducts& op);
};

namespace generic {
const Int8Kernels& int8_kernels();
}
namespace avx2 {
const Int8Kernels& int8_kernels();
}
namespace avx_vnni {
const Int8Kernels& int8_kernels();
}
namespace avx512_vnni {
const Int8Kernels& int8_kernels();
}

}  // namespace octavo
