#include "kernels/cpu/isa/kernels.h"

namespace octavo::OCTAVO_ISA {

const IsaKernels& isa_kernels() {
    static const IsaKernels table = {
        .tile_tokens = kDotTileTokens,
        .dot = {dot_f32, dot_f16, dot_bf16, dot_q8_0},
        .unpack = {unpack_f32, unpack_f16, unpack_bf16, unpack_q8_0},
        .silu_mul = silu_mul,
        .add_scaled_rows = add_scaled_rows,
        .add_rows = add_rows,
        .rms_norm = rms_norm,
        .gated_norm = gated_norm,
        .rope = rope,
    };
    return table;
}

}  // namespace octavo::OCTAVO_ISA
