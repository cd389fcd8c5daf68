// How much each scheme of the table changes what a model says, as measured. A second table beside scheme.h's, because
// it is evidence and not definition: a test keeps the two in step.
//
// Threads: constant tables, free for all.
// Source: FIDELITY.md, "All schemes, by window": window 1024, 64 sinks, bundled model, 8,192 positions.
#pragma once

#include <span>
#include <string_view>

#include "runtime/kv/scheme.h"

namespace octavo {

struct KvSchemeQuality {
    std::string_view scheme;
    double mean_kl = 0;  // nats, against f16
    double top1 = 0;     // percent of positions whose best token is the same
};

std::span<const KvSchemeQuality> kv_scheme_qualities();
// nullptr for a pair that a person put together: nobody measured it.
const KvSchemeQuality* find_kv_scheme_quality(const KvScheme& scheme);

}  // namespace octavo
