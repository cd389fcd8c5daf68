#include "runtime/kv/scheme_quality.h"

#include <string>

namespace octavo {
namespace {

constexpr KvSchemeQuality measured[] = {
    {"f32", 2.6e-6, 99.99},      {"f16", 0, 100},          {"bf16", 3.4e-5, 99.90},  {"q8_0", 9.6e-5, 99.82},
    {"fp8_e4m3", 5.1e-4, 99.23}, {"q6_0", 2.9e-4, 99.49},  {"q4_0", 4.4e-3, 96.74},  {"q8r", 6.6e-5, 99.80},
    {"q6r", 5.2e-4, 99.04},      {"q4r", 5.4e-3, 96.66},   {"q2k", 2.9e-1, 75.70},   {"q2", 4.1e-1, 71.48},
    {"kivi2", 4.1e-1, 71.77},    {"k4v2c", 6.2e-2, 88.26}, {"q4_nl", 3.0e-3, 97.45},
};

}  // namespace

std::span<const KvSchemeQuality> kv_scheme_qualities() { return measured; }

const KvSchemeQuality* find_kv_scheme_quality(const KvScheme& scheme) {
    const std::string name = kv_scheme_name(scheme);
    for (const KvSchemeQuality& each : measured)
        if (each.scheme == name) return &each;
    return nullptr;
}

}  // namespace octavo
