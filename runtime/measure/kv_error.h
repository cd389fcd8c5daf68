// What storing keys and values does to them, and to the output of attention: the quick gate of a KV format. Elementwise
// error is not the verdict (see fidelity.h), but it is where a broken codec shows first.
//
// Errors are relative root mean squares. Of attention: its output before the gate, all queries together, against exact
// float32 keys and values with double accumulation.
//
// Threads: pure functions; the back end belongs to the caller.
// Source: kv_formats (the design), section 6.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/backend.h"
#include "kernels/base/error.h"
#include "runtime/kv/kv_settings.h"

namespace octavo {

// Keys, values and queries of one layer after norm and rotary, before rotation: made up or taken from a model.
struct KvActivations {
    std::string family;  // "gaussian", "layer 4"
    int heads = 0;
    int kv_heads = 0;
    int head_dim = 0;
    int64_t cells = 0;
    int64_t queries = 0;   // those of the last cells; may be 0
    std::vector<float> k;  // [cells][kv_heads][head_dim]
    std::vector<float> v;  // [cells][kv_heads][head_dim]
    std::vector<float> q;  // [queries][heads][head_dim]
};

// ErrorKind::input when sizes do not belong together.
Status check_activations(const KvActivations& activations);

// Made-up families: "gaussian"; "kurtotic" and "heavy tails" (Student's t with 11 and 5 degrees of freedom:
// kurtosis 3.9 and 9); "outliers 6", "outliers 20", "outliers 75" (four channels of K that much larger, and as much
// smaller in Q).
std::span<const std::string_view> kv_error_families();
Result<KvActivations> make_activations(std::string_view family, int64_t cells, int64_t queries, uint64_t seed);

// The same attention with outlier channels: K's channels 70, 121, 180 and 233 times f, Q's divided by it, such that the
// largest channel RMS of K is `spread` times the median in the head where that ratio is larger. head_dim above 233.
Result<KvActivations> with_outliers(KvActivations activations, double spread);

struct KvError {
    double rel_k = 0;
    double rel_v = 0;
    double attention_error = 0;  // 0 without queries
};

// out[queries][heads][head_dim]
Result<std::vector<float>> exact_attention(const KvActivations& activations);

// `exact` as exact_attention gives it. All cells count as seen by the last one, so cells in the FP16 window, the sinks
// or an open group are nearly exact.
Result<KvError> measure_kv_error(const KvActivations& activations, const KvSettings& settings,
                                 std::span<const float> exact, Backend& backend);

}  // namespace octavo
