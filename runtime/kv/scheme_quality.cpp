#include "runtime/kv/scheme_quality.h"

#include <string>

namespace octavo {
namespace {

constexpr KvSchemeQuality measured[] = {
    {"f32", 2.6e-6, 99.99},      {"f16", 0, 100},          {"bf16", 3.4e-5, 99.90},  {"q8_0", 2.8e-5, 99.91},
    {"fp8_e4m3", 2.5e-4, 99.48}, {"q6_0", 1.8e-4, 99.58},  {"q4_0", 1.9e-3, 98.32},  {"q8r", 4.3e-5, 99.91},
    {"q6r", 2.4e-4, 99.62},      {"q4r", 2.1e-3, 98.32},   {"q2k", 9.0e-2, 88.61},   {"q2", 1.1e-1, 87.33},
    {"kivi2", 1.1e-1, 87.27},    {"k4v2c", 2.0e-2, 94.20}, {"q4_nl", 1.4e-3, 98.57},
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
