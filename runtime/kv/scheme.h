// The one table of KV schemes: how keys and values of the full-attention layers are stored. Pool sizes, memory
// arithmetic, `--kv` parsing, the dropdown and tests read it; adding a scheme is one entry here and one codec pair per
// back end.
//
// A scheme is either an entry of the table or a pair put together by a person ("k=f16,v=bf16").
//
// Threads: values and constant tables, free for all.
// Source: kv_formats (the design), section 1.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "kernels/base/error.h"
#include "kernels/kv_format.h"

namespace octavo {

struct KvSchemeSpec {
    std::string_view name;
    KvFormat k;
    KvFormat v;
    bool in_menu;           // offered to a person in lists; the others are for parity runs
    std::string_view text;  // one line for a person
};

std::span<const KvSchemeSpec> kv_schemes();

// What one cache is stored in.
struct KvScheme {
    KvFormat k = KvFormat::f16;
    KvFormat v = KvFormat::f16;

    // Both sides keep every value as it is: no FP16 overlay.
    bool raw() const { return kv_format_spec(k).raw() && kv_format_spec(v).raw(); }

    bool operator==(const KvScheme&) const = default;
};

// The table's name for the pair, or "k=A,v=B". parse_kv_scheme reads it back.
std::string kv_scheme_name(const KvScheme& scheme);

// "f16", or "k=f16,v=bf16" in either order. ErrorKind::usage names the unknown word and lists what exists.
Result<KvScheme> parse_kv_scheme(std::string_view text);

}  // namespace octavo
