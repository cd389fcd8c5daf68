#include "kernels/cpu/isa/kernels.h"
#include "kernels/cpu/isa/mixers.h"

namespace octavo::OCTAVO_ISA {

const IsaKernels& isa_kernels() {
    static const IsaKernels table = {
        // Measured: a weight that is cheap to decode may be decoded three times.
        .direct_tokens = {3 * kDotTileTokens, 3 * kDotTileTokens, 3 * kDotTileTokens, 2 * kDotTileTokens,
                          2 * kDotTileTokens, 2 * kDotTileTokens},
        .dot = {dot_f32, dot_f16, dot_bf16, dot_q8_0, dot_f8_e4m3, dot_f8_e4m3_blocks},
        .unpack = {unpack_f32, unpack_f16, unpack_bf16, unpack_q8_0, unpack_f8_e4m3, unpack_f8_e4m3_blocks},
        .silu_mul = silu_mul,
        .add_scaled_rows = add_scaled_rows,
        .add_rows = add_rows,
        .rms_norm = rms_norm,
        .gated_norm = gated_norm,
        .rope = rope,
        .attend_piece = attend_piece,
        .merge_attention = merge_attention,
        .finish_attention = finish_attention,
        .rotate_row = rotate_row,
        .divide_row = divide_row,
        .round_row = round_row,
        .encode_kv_rows = encode_kv_rows,
        .encode_kv_group = encode_kv_group,
        .fill_kv_tile = fill_kv_tile,
        .convolve_channels = convolve_channels,
        .normalise_row = normalise_row,
        .delta_recurrent = delta_recurrent,
        .delta_chunked = delta_chunked,
    };
    return table;
}

}  // namespace octavo::OCTAVO_ISA
