// Everything a person can choose about a KV cache: scheme, rotation, FP16 window and sinks, encoder.
//
// Threads: values, free for all.
// Source: kv_formats (the design), sections 1 to 4.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/base/error.h"
#include "runtime/kv/kv_memory.h"
#include "runtime/kv/scheme.h"

namespace octavo {

enum class KvRotation : uint8_t { automatic, on, off };  // automatic: as each side's format says
enum class KvEqualise : uint8_t { off, free, calibrated };
// It costs nothing, and where a model's keys have outlier channels it is what saves the packed schemes (FIDELITY.md).
inline constexpr KvEqualise default_kv_equalise = KvEqualise::free;

Result<KvRotation> parse_kv_rotation(std::string_view text);  // "auto", "on", "off"
Result<KvEqualise> parse_kv_equalise(std::string_view text);  // "off", "free", "calibrated"
Result<KvEncoder> parse_kv_encoder(std::string_view text);    // "reference", "refined"
std::string_view kv_rotation_name(KvRotation rotation);
std::string_view kv_equalise_name(KvEqualise equalise);
std::string_view kv_encoder_name(KvEncoder encoder);

struct KvSettings {
    // Of packed schemes; raw ones have no overlay. Decode does not slow down for either (README, "Speed").
    static constexpr int64_t default_window = 1024;
    static constexpr int64_t default_sinks = 64;

    KvScheme scheme;
    KvRotation rotation = KvRotation::automatic;
    int64_t window = 0;  // newest cells that are kept in FP16 too
    int64_t sinks = 0;   // first cells likewise
    KvEncoder encoder = KvEncoder::refined;

    bool operator==(const KvSettings&) const = default;

    bool rotates(KvFormat side) const;
    bool rotates_k() const { return rotates(scheme.k); }
    bool rotates_v() const { return rotates(scheme.v); }
};

// A scheme with the defaults that suit it.
KvSettings default_kv_settings(const KvScheme& scheme);

// ErrorKind::usage with the numbers: head_dim that a format cannot store, an overlay on a raw scheme, a negative
// window, a window or sinks beyond the context.
Status check_kv_settings(const KvSettings& settings, const KvShape& shape, int64_t context_length);

// "q4_0, window 128, sinks 64"
std::string describe_kv_settings(const KvSettings& settings);

// FP16 copies, all layers: the overlay's ring and sinks, and the open groups of per-channel sides.
int64_t kv_overlay_bytes(const KvShape& shape, const KvSettings& settings);
int64_t kv_open_group_bytes(const KvShape& shape, const KvScheme& scheme);

}  // namespace octavo
