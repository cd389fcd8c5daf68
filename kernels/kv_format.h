// How one full-attention layer's keys and values lie in memory. A *cell* is one token position in one layer; a *row* is
// the head_dim values of one KV head in one cell. Payload and scales are two separate arrays.
//   row formats:          payload [cell][kv_heads][row], scales [cell][kv_heads][row]
//   per-channel formats:  payload [group of 32 cells][kv_heads][head_dim][8 bytes], scales [group][kv_heads][head_dim]
// A per-channel group is encoded once, when its 32 cells are there; until then its cells live in the open buffer.
//
// Source: the design's kv_formats, sections 2 to 4. The bytes themselves: kv_codec.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/base/half.h"
#include "kernels/kv_codec.h"

namespace octavo {

enum class KvFormat : uint8_t {
    // as they are
    f32,
    f16,
    bf16,
    // a scale per 32 values of a row
    q8_0,
    fp8_e4m3,
    q6_0,
    q4_0,
    // a scale per row
    q8r,
    q6r,
    q4r,
    q2c,    // two bits per channel: a scale per 32 cells
    q2t,    // two bits per token: a scale per 32 values of a row
    q4_nl,  // four bits, codebook, a scale per 32 values of a row
};

struct KvFormatSpec {
    KvFormat format;
    std::string_view name;
    int payload_bits;  // per value
    int scale_values;  // values of a run that share a float16 scale; kNoScale, or kWholeRow
    int group_cells;   // cells that are encoded together: 1, or 32 for per-channel formats
    int dim_multiple;  // head_dim must be a multiple of this
    bool rotates;      // rows are rotated unless a person says otherwise (kv_formats, section 3)
    const KvCodec* codec;

    bool raw() const { return scale_values == 0; }  // no scales: needs no FP16 overlay
    bool per_channel() const { return group_cells > 1; }
};

inline constexpr int kNoScale = 0;
inline constexpr int kWholeRow = -1;

std::span<const KvFormatSpec> kv_formats();
const KvFormatSpec& kv_format_spec(KvFormat format);
// By name or alias ("6bit" is q6r); nullptr for anything else.
const KvFormatSpec* find_kv_format(std::string_view name);

// Bytes of one row. For per-channel formats: a row's share of its group (head_dim is a multiple of 16 there).
int64_t kv_payload_bytes_per_row(KvFormat format, int head_dim);
int64_t kv_scale_bytes_per_row(KvFormat format, int head_dim);

// One side (K or V) of one layer's cache.
struct KvSide {
    KvFormat format = KvFormat::f16;
    bool rotate = false;  // rows are stored after a Walsh-Hadamard transform over head_dim
    std::byte* payload = nullptr;
    std::byte* scales = nullptr;  // float16; nullptr without scales
    f16_bits* open = nullptr;  // per-channel formats: [32][kv_heads][head_dim], cell c in slot c mod 32; else nullptr
};

// FP16 copies beside the quantised cells: the first `sinks` cells and the newest `window` cells. For the query at
// position p, cell c is read from FP16 iff c < sinks, or c > p - window and c >= window_from, or, for a per-channel
// side, c >= 32 floor((p + 1) / 32) (its open group); otherwise it is decoded from the bulk. The same rule holds in
// decode and inside a prefill pass, so results do not depend on how a prompt is split.
struct KvOverlay {
    int64_t sinks = 0;           // cells [0, sinks)
    int64_t window = 0;          // cells; the ring has as many slots
    int64_t window_from = 0;     // cells before this one were never in the ring (the window was widened later)
    f16_bits* sink_k = nullptr;  // [sinks][kv_heads][head_dim]
    f16_bits* sink_v = nullptr;
    f16_bits* ring_k = nullptr;  // [window][kv_heads][head_dim], cell c in slot c mod window
    f16_bits* ring_v = nullptr;
};

// One layer's cache as kernels see it. The pools behind it are committed for every cell that is stored or read. Rows
// are stored in the cache's *basis*: K after norm and rotary (then rotated), V divided by v_scale (then rotated).
struct KvView {
    int kv_heads = 0;
    int head_dim = 0;
    KvSide k;
    KvSide v;
    KvOverlay overlay;
    // Cells whose scores are set to minus infinity, for the recall test's control; none by default.
    int64_t masked_first = 0;
    int64_t masked_cells = 0;
    const float* v_scale = nullptr;  // [kv_heads][head_dim] channel equalisation of V; nullptr: all ones
    KvEncoder encoder = KvEncoder::refined;
};

// Addresses of the run that holds `cell` of `head` (row formats), or of channel 0 of `head` in the cell's group
// (per-channel formats; channel c lies 8 payload bytes and one scale further each).
std::byte* kv_payload_at(const KvView& view, const KvSide& side, int64_t cell, int head);
f16_bits* kv_scales_at(const KvView& view, const KvSide& side, int64_t cell, int head);

}  // namespace octavo
