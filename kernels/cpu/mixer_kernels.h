// What one task of attention, kv_store, causal_conv or gated_delta hands to the code of one instruction set: raw
// pointers and plain numbers (see the trap note in isa/simd.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/kv_kernels.h"

namespace octavo {

// Attention is computed in pieces of this many cells, starting at a multiple of it: each piece by itself, then merged
// in order. A query's result so depends neither on the number of threads nor on the other queries of the call.
inline constexpr int kPieceCells = 256;
// Query rows that share one decoded tile of keys or values.
inline constexpr int kTileRows = 32;

// Softmax and weighted sum over some cells, not yet divided by the sum.
struct AttentionPartial {
    float* max;  // [rows]
    float* sum;  // [rows]: of exp(score - max); 0: no cell seen
    float* out;  // [rows][width]: of exp(score - max) * v
};

struct AttentionPiece {
    int head_dim;
    int width;
    int rows;            // up to kTileRows
    const float* q;      // [rows][width], scaled by 1 / sqrt(head_dim)
    int64_t first_cell;  // of the piece
    int cells;           // up to kPieceCells, as many as the last row sees
    int group;           // row r sees the cells up to and including first_query + (first_row + r) / group
    int64_t first_row;
    int64_t first_query;
    int64_t masked_first;  // cells [masked_first, masked_end) are not seen
    int64_t masked_end;
    SideCells k;
    SideCells v;
    float* scratch;  // [attention_scratch_floats(width)]
    AttentionPartial partial;
};

constexpr int64_t attention_scratch_floats(int width) {
    return int64_t{kTileRows} * (kPieceCells + kTileCells) + int64_t{kTileCells} * width;
}

struct AttentionFinish {
    int head_dim;
    float sum;
    bool rotated;          // V's rows are rotated
    float* total;          // [width], overwritten
    const float* v_scale;  // [head_dim]; nullptr: all ones
    const float* gate;     // [head_dim]
    float* out;            // [head_dim]
};

// T tokens of one value head of the gated delta rule, or of some of its columns: everything points at the first token.
struct DeltaHead {
    int tokens;
    int key_dim;
    int key_width;         // padded_width(key_dim)
    int columns;           // value columns of this task
    const float* q;        // [T][key_width], normalised and scaled, zero beyond key_dim
    const float* k;        // [T][key_width]
    int64_t qk_stride;     // floats between two tokens
    const float* v;        // [T][columns]
    int64_t v_stride;      // floats
    const float* beta;     // [T]
    const float* g;        // [T], log of the decay
    int64_t gate_stride;   // floats
    float* state;          // [key_dim][columns]
    int64_t state_stride;  // floats between two rows
    float* out;            // [T][columns]
    int64_t out_stride;    // floats
};

// Tokens of one chunk of the chunked form.
inline constexpr int kDeltaChunk = 64;
// Columns of one task at most, so that the state of a task stays near the core.
inline constexpr int kDeltaColumns = 128;

// Scratch of the chunked form: two chunks of keys, two of values, two square matrices, the state.
constexpr int64_t delta_scratch_floats(int key_width, int columns) {
    const int64_t width = padded_width(columns);
    return int64_t{2} * kDeltaChunk * key_width + int64_t{2} * kDeltaChunk * width +
           int64_t{2} * kDeltaChunk * kDeltaChunk + key_width * width + 3 * kDeltaChunk;
}

// Channels whose taps are brought into the order of the lanes together.
inline constexpr int kConvBlock = 64;

// Some channels of the causal convolution over all tokens; pointers are at the first of these channels.
struct ConvChannels {
    int tokens;
    int channels;  // of this task
    int kernel;
    int64_t stride;       // floats between two tokens in x, y and state: all channels
    const float* x;       // [T][channels]
    const float* weight;  // [channels][kernel]
    float* state;         // in and out: [kernel - 1][channels]
    float* y;             // [T][channels]
    float* scratch;       // [kernel * kConvBlock]
};

}  // namespace octavo
